package netproxy

import "strings"

// Preset is a group of hosts that belong together: who allows one needs the others.
type Preset struct {
	Name  string // in messages: "the npm registry"
	Hosts []string
}

// presets are the registries of packages and the hosts of repositories, as their own tools reach them by default.
var presets = []Preset{
	{"the Go module proxy", []string{"proxy.golang.org", "sum.golang.org"}},
	{"the npm registry", []string{"registry.npmjs.org", "registry.yarnpkg.com"}},
	{"PyPI", []string{"pypi.org", "files.pythonhosted.org"}},
	{"crates.io", []string{"crates.io", "index.crates.io", "static.crates.io"}},
	{"RubyGems", []string{"rubygems.org", "index.rubygems.org"}},
	{"Maven Central", []string{"repo.maven.apache.org", "repo1.maven.org"}},
	{"NuGet", []string{"api.nuget.org", "www.nuget.org"}},
	{"Packagist", []string{"repo.packagist.org", "packagist.org"}},
	{"Hex", []string{"repo.hex.pm", "hex.pm", "builds.hex.pm"}},
	{"Debian's packages", []string{"deb.debian.org", "security.debian.org"}},
	{"Ubuntu's packages", []string{"archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"}},
	{"Alpine's packages", []string{"dl-cdn.alpinelinux.org"}},
	{"GitHub", []string{
		"github.com", "api.github.com", "codeload.github.com", "raw.githubusercontent.com",
		"objects.githubusercontent.com", "release-assets.githubusercontent.com",
	}},
	{"GitLab", []string{"gitlab.com"}},
	{"Bitbucket", []string{"bitbucket.org"}},
	{"Codeberg", []string{"codeberg.org"}},
}

// registries is the number of presets, from the first, that are registries of packages: their hosts take no data of an
// anonymous client.
const registries = 9

// Registries returns the hosts of the package registries of programming languages.
func Registries() (out []string) {
	for _, p := range presets[:registries] {
		out = append(out, p.Hosts...)
	}
	return out
}

// PresetOf returns the group that a host belongs to, or the host alone, without a name.
func PresetOf(host string) Preset {
	for _, p := range presets {
		for _, h := range p.Hosts {
			if strings.EqualFold(h, host) {
				return p
			}
		}
	}
	return Preset{Hosts: []string{host}}
}
