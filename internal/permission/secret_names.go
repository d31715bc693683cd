package permission

import (
	"slices"
	"strings"
	"sync"
)

// The names of files and folders that are likely to hold secrets, plain (see plainName); with slashes, those of the
// folders around it as well. The Read tool, the commands of the shell and git's past go by them. Those of homeFiles,
// homeFolders and homeNamed are also hidden from commands in the sandbox, where they lie in the home folder.
const (
	homeFiles = ".netrc _netrc .git-credentials .pgpass .my.cnf .pypirc .boto .s3cfg .dockercfg .vault-token " +
		".docker/config.json .config/hub .cargo/credentials.toml .m2/settings.xml .claude/.credentials.json .codex/auth.json"
	homeFolders = ".ssh .gnupg .aws .azure .kube .password-store .vault .mozilla .thunderbird .electrum .bitcoin " +
		".config/gcloud .config/gh .config/op .config/rclone " +
		".config/google-chrome .config/chromium .local/share/keyrings library/keychains"
	// the last name alone is enough, see below
	homeNamed = ".config/git/credentials .cargo/credentials .gem/credentials .bash_history .zsh_history"

	secretFiles = homeFiles + " .envrc .npmrc .htpasswd .history .node_repl_history .viminfo .lesshst " +
		"credentials credentials.json credentials.tfrc.json client_secret.json service-account.json secrets.yml " +
		"secrets.yaml secrets.json secrets.toml " +
		"master.key kubeconfig identity shadow gshadow wallet.dat key4.db logins.json cookies.sqlite login.keychain-db " +
		"etc/sudoers"
	secretKeys    = "id_rsa id_ed25519 id_ecdsa id_dsa"
	secretEndings = ".pem .key .p12 .pfx .jks .keystore .kdbx .ppk .asc .gpg .tfvars .tfstate .ovpn _history _rsa _ed25519"
	secretFolders = homeFolders + " etc/ssl/private var/lib/docker"
	envTemplates  = "example sample template dist defaults schema"
)

// HomeSecrets returns the files and folders below a home folder that hold keys, passwords and histories, relative to it
// and slashed.
func HomeSecrets() []string {
	names := strings.Fields(homeFolders + " " + homeFiles + " " + homeNamed)
	return append(names, "Library/Keychains") // as macOS writes it
}

var (
	endings   = strings.Fields(secretEndings)
	templates = strings.Fields(envTemplates)

	filesByName   = sync.OnceValue(func() map[string][][]string { return byLast(secretFiles) })
	foldersByName = sync.OnceValue(func() map[string][][]string { return byLast(secretFolders) })
)

// byLast splits the paths in a text into names, and groups them by the last one.
func byLast(text string) map[string][][]string {
	m := map[string][][]string{}
	for place := range strings.FieldsSeq(text) {
		names := strings.Split(place, "/")
		last := names[len(names)-1]
		m[last] = append(m[last], names)
	}
	return m
}

// endLike returns the number of names at the end of plain that are one of these paths, or 0.
func endLike(plain []string, places [][]string) int {
	for _, p := range places {
		if n := len(plain) - len(p); n >= 0 && slices.Equal(plain[n:], p) {
			return len(p)
		}
	}
	return 0
}

// secretFile says why a file at a path of these plain names is likely to hold secrets, and how many names at its end
// show it; "" and 0 where none does.
func secretFile(plain []string) (n int, why string) {
	name := plain[len(plain)-1]
	switch {
	case name == ".env" || strings.HasPrefix(name, ".env.") || strings.HasSuffix(name, ".env"):
		if slices.ContainsFunc(templates, func(word string) bool { return strings.Contains(name, word) }) {
			return 0, ""
		}
		return 1, "it usually holds secrets"
	case name == "id_rsa" || name == "id_ed25519" || name == "id_ecdsa" || name == "id_dsa":
		return 1, "it is a private key"
	}
	if n := endLike(plain, filesByName()[name]); n > 0 {
		return n, "it usually holds secrets"
	}
	for _, ext := range endings {
		if strings.HasSuffix(name, ext) && name != ext {
			return 1, "it may be a private key or another secret"
		}
	}
	return 0, ""
}

// secretFolder returns how many names at the end of a path show that keys and credentials lie in the folder there.
func secretFolder(plain []string) int { return endLike(plain, foldersByName()[plain[len(plain)-1]]) }

// secretRead says why a guard asks before the file of a path is read: by a name in parts[from:], with the names before
// it. The others belong to a working root, which may itself be such a folder.
func secretRead(parts []string, from int) string {
	plain := plainNames(parts)
	for i := from; i < len(plain); i++ {
		if i == len(plain)-1 {
			if _, why := secretFile(plain); why != "" {
				return parts[i] + ": " + why
			}
		}
		if n := secretFolder(plain[:i+1]); n > 0 {
			return "keys and credentials lie in " + strings.Join(parts[i+1-n:i+1], "/")
		}
	}
	return ""
}

// plainNames are the plain forms of names: the names themselves where they are plain.
func plainNames(parts []string) []string {
	for i, part := range parts {
		if plainName(part) == part {
			continue
		}
		plain := slices.Clone(parts)
		for j := i; j < len(plain); j++ {
			plain[j] = plainName(plain[j])
		}
		return plain
	}
	return parts
}

// SecretRead reports whether a guard asks before the file at path is read because of its name or that of a folder
// around it, in a policy with these working roots.
func SecretRead(path string, roots []string) bool {
	path = slashed(path)
	rel, _ := fromRoot(roots, path)
	var few [fewNames]string
	parts := splitPath(few[:0], path)
	return secretRead(parts, len(parts)-namesIn(rel)) != ""
}

// fewNames is how many names most paths have at most.
const fewNames = 16

// splitPath appends the names of a path to parts, as strings.Split does.
func splitPath(parts []string, path string) []string {
	for {
		i := strings.IndexByte(path, '/')
		if i < 0 {
			return append(parts, path)
		}
		parts, path = append(parts, path[:i]), path[i+1:]
	}
}

// namesIn counts the names of a path from a root, "" for the root itself.
func namesIn(rel string) int {
	if rel == "" {
		return 0
	}
	return strings.Count(rel, "/") + 1
}

// SecretPath returns the name that makes a guard ask before the file at this slash-separated path is read: the file's
// own or that of a folder above it, with the folders that belong to it (.config/gh); "" if no guard asks. Template
// reports a name that only resembles one (.env.example).
func SecretPath(rel string) (name string, folder, template bool) {
	var parts, plain [16]string
	at, names := parts[:0], plain[:0]
	for rest, more := rel, rel != ""; more; {
		var part string
		part, rest, more = strings.Cut(rest, "/")
		at, names = append(at, part), append(names, plainName(part))
		if n := secretFolder(names); n > 0 && more {
			return strings.Join(at[len(at)-n:], "/"), true, false
		}
	}
	if len(names) == 0 {
		return "", false, false
	}
	if n, _ := secretFile(names); n > 0 {
		return strings.Join(at[len(at)-n:], "/"), false, false
	}
	last := names[len(names)-1]
	return "", false, strings.HasPrefix(last, ".env.") || strings.HasSuffix(last, ".env")
}

// SecretPatterns returns patterns of gitignore(5) for the files that a guard asks about before they are read, and for
// those among them that it does not ask about (.env.example).
func SecretPatterns() (secret, template []string) {
	secret = append(secret, ".env", ".env.*", "*.env")
	for _, name := range slices.Concat(strings.Fields(secretKeys+" "+secretFiles), HomeSecrets()) {
		if strings.Contains(name, "/") {
			name = "**/" + name
		}
		secret = append(secret, name, name+"/**")
	}
	for _, name := range strings.Fields(secretFolders) {
		secret = append(secret, "**/"+name+"/**")
	}
	for _, ending := range endings {
		secret = append(secret, "*"+ending)
	}
	for _, word := range templates {
		template = append(template, ".env.*"+word+"*", "*"+word+"*.env")
	}
	return secret, template
}
