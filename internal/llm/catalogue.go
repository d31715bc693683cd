package llm

import (
	"cmp"
	_ "embed"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
)

//go:generate go run ./gen -in $MODELS_DEV_JSON -out catalogue.tsv

//go:embed catalogue.tsv
var catalogueTSV string

//go:embed catalogue_extra.tsv
var catalogueExtraTSV string

// Models used by default.
const (
	DefaultModel      = "claude-sonnet-5"
	DefaultSmallModel = "claude-haiku-4-5"
)

// Guesses for models that the catalogue does not have. The output limit is the one Anthropic's own client
// assumes for an unknown model.
const (
	guessWindow    = 200_000
	guessWindowOAI = 128_000
	guessOutput    = 32_000
	guessOutputOAI = 16_384
	longWindow     = 1_000_000
)

// aliases are the short names of the newest model of each line of Anthropic's.
var aliases = map[string]string{"fable": "fable", "best": "fable", "opus": "opus", "sonnet": "sonnet", "haiku": "haiku"}

// Newest is the newest model of a line ("opus") that a section of the catalogue has, by the version in its id without a
// date; "": it has none.
func Newest(host, line string) string {
	best, major, minor := "", -1, -1
	for _, s := range sections() {
		if s.name != host {
			continue
		}
		for text := range strings.Lines(s.lines) {
			id, _, _ := strings.Cut(strings.TrimSpace(text), "\t")
			_, version, ok := strings.Cut(id, "claude-"+line+"-")
			first, second, _ := strings.Cut(strings.ReplaceAll(version, ".", "-"), "-")
			a, err := strconv.Atoi(first)
			b, worse := strconv.Atoi(cmp.Or(second, "0"))
			if !ok || err != nil || worse != nil || a > 99 || b > 99 {
				continue
			}
			if a > major || a == major && b > minor {
				best, major, minor = id, a, b
			}
		}
	}
	return best
}

// Resolve replaces an alias ("sonnet", "opus", "haiku", "fable", "best", in any case) by its model id;
// overrides come first and may name further aliases. A "[1m]" suffix is kept. Any other id is returned
// unchanged.
func Resolve(id string, overrides map[string]string) string {
	id = strings.TrimSpace(id)
	base, long := CutLong(id)
	suffix := id[len(base):]
	key := strings.ToLower(base)
	to := overrides[key]
	if line := aliases[key]; to == "" && line != "" {
		to = Newest("anthropic", line)
	}
	if to == "" {
		return id
	}
	if _, already := CutLong(to); already || !long {
		return to
	}
	return to + suffix
}

// Standard is the model that is used where none is chosen: id, or what overrides have for its line. Gateways are set up
// by the names of the lines alone (ANTHROPIC_DEFAULT_SONNET_MODEL and its siblings).
func Standard(id string, overrides map[string]string) string {
	for _, line := range []string{"opus", "sonnet", "haiku"} {
		if to := overrides[line]; to != "" && strings.Contains(id, line) {
			return to
		}
	}
	return id
}

// CutLong removes the "[1m]" suffix, which requests a window of one million tokens, from a model id.
func CutLong(id string) (base string, long bool) {
	if n := len(id) - len("[1m]"); n > 0 && strings.EqualFold(id[n:], "[1m]") {
		return id[:n], true
	}
	return id, false
}

type row struct {
	host string // the catalogue's section
	info ModelInfo
	flag string
}

// A section is the part of the catalogue about one host. Its lines are searched as text: a conversation needs one or
// two models, and parsing all of them was a twentieth of the start.
type section struct {
	name, host string
	lines      string // each after a newline
}

// sections are in the order of the files: the built-in one, the user's copy, catalogue_extra.tsv. A host may come in
// each; later lines replace earlier ones.
var sections = sync.OnceValue(func() []section {
	var out []section
	for _, text := range []string{catalogueTSV, readOwnCatalogue(), catalogueExtraTSV} {
		for _, part := range strings.Split(text, "\n# ")[1:] { // before the first is a comment
			head, _, _ := strings.Cut(part, "\n")
			name, host, _ := strings.Cut(head, " ")
			out = append(out, section{name, host, part[len(head):]})
		}
	}
	return out
})

// row returns the model with exactly this id.
func (s section) row(id string) (row, bool) {
	i := strings.Index(s.lines, "\n"+id+"\t")
	if i < 0 || id == "" || strings.ContainsAny(id, "\t\n") {
		return row{}, false
	}
	line, _, _ := strings.Cut(s.lines[i+1:], "\n")
	return s.parse(line), true
}

func (s section) parse(line string) row {
	var col [10]string
	for i := range col {
		col[i], line, _ = strings.Cut(line, "\t")
	}
	return row{host: s.name, flag: col[8], info: ModelInfo{
		ID: col[0], Name: cmp.Or(col[1], col[0]), Known: true, ContextWindow: atoi(col[2]), MaxOutput: atoi(col[3]),
		Images: strings.Contains(col[8], "i"),
		Price: Price{
			Input: atof(col[4]), Output: atof(col[5]), CacheRead: atof(col[6]), CacheWrite: atof(col[7]),
			Long: longPrice(col[9]),
		},
	}}
}

// longPrice reads the prices of long prompts, "200000:4:18:0.4:"; zero: there are none.
func longPrice(text string) LongPrice {
	var col [5]string
	for i := range col {
		col[i], text, _ = strings.Cut(text, ":")
	}
	l := LongPrice{
		Above: atoi(col[0]), Input: atof(col[1]), Output: atof(col[2]), CacheRead: atof(col[3]),
		CacheWrite: atof(col[4]),
	}
	l.CacheRead, l.CacheWrite = cmp.Or(l.CacheRead, l.Input), cmp.Or(l.CacheWrite, l.Input)
	return l
}

// ids returns the models of a section in its order.
func (s section) ids() iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(strings.TrimPrefix(s.lines, "\n")) {
			if id, _, ok := strings.Cut(line, "\t"); ok && !yield(id) {
				return
			}
		}
	}
}

// plainIDs finds a model by its plain id, with and without the vendor's prefix, in the first section that has it.
var plainIDs = sync.OnceValue(func() map[string]row {
	out := make(map[string]row, 1200)
	for _, s := range sections() {
		for id := range s.ids() {
			for _, plain := range []string{plainID(id), plainID(afterVendor(id))} {
				if _, taken := out[plain]; !taken && plain != "" {
					out[plain], _ = exact(s.name, id)
				}
			}
		}
	}
	return out
})

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

func atof(s string) float64 { f, _ := strconv.ParseFloat(s, 64); return f }

// CatalogueHost returns the section of the catalogue ("openrouter", "groq", ...) for a base URL, or "".
func CatalogueHost(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	for _, s := range sections() {
		if s.host == host && host != "" {
			return s.name
		}
	}
	return ""
}

// Lookup returns the catalogue's entry for a model. provider is a wire's name ("anthropic", "openai") or the
// section of a compatible host, as CatalogueHost returns it. The id may be an alias (of Anthropic's models),
// carry a date, "-latest", "[1m]", a vendor prefix or the decorations of Bedrock and Vertex. The result's ID
// is the one to send: alias and suffix resolved, and for Anthropic's own wire without "anthropic/". If the
// provider does not name a host, prices are those of the first host that has the model; an unknown model has
// none.
func Lookup(provider, id string) ModelInfo {
	if provider == "anthropic" || provider == "" {
		id = Resolve(id, nil)
	}
	base, long := CutLong(strings.TrimSpace(id))
	if provider == "anthropic" {
		base = strings.TrimPrefix(base, "anthropic/")
		if strings.HasPrefix(base, "claude-") { // as other hosts spell it
			base = strings.ReplaceAll(base, ".", "-")
		}
	}
	info, found := ModelInfo{}, false
	if r, ok := findModel(provider, base); ok {
		info, found = r.info, true
		addThinking(&info, r.host, strings.Contains(r.flag, "r"))
	}
	if !found {
		info = guess(provider, base)
		info.Unpriced = true
	}
	info.ID, info.Provider = base, provider
	if long {
		info.ContextWindow = max(info.ContextWindow, longWindow)
	}
	fillCachePrice(&info.Price)
	return info
}

func fillCachePrice(p *Price) {
	if p.CacheRead == 0 {
		p.CacheRead = p.Input
	}
	if p.CacheWrite == 0 {
		p.CacheWrite = p.Input
	}
}

// exact returns the model of a host with this id. The last of several lines counts.
func exact(host, id string) (row, bool) {
	for _, s := range slices.Backward(sections()) {
		if s.name != host {
			continue
		}
		if r, ok := s.row(id); ok {
			return r, true
		}
	}
	return row{}, false
}

// findModel searches the exact id in the provider's section, then its plain form in all sections.
func findModel(provider, id string) (row, bool) {
	for _, try := range []string{id, plainID(id), plainID(afterVendor(id))} {
		if r, ok := exact(provider, try); ok {
			return r, true
		}
	}
	for _, try := range []string{plainID(id), plainID(afterVendor(id))} {
		if r, ok := plainIDs()[try]; ok {
			return r, true
		}
	}
	return row{}, false
}

func afterVendor(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// plainID removes the additions of hosts to a model's name: date, "-latest", ":free", Bedrock's region,
// vendor and version, Vertex's "@date". It writes Claude's versions with hyphens.
func plainID(id string) string {
	id = strings.ToLower(id)
	if i := strings.Index(id, "anthropic.claude"); i >= 0 {
		id = id[i+len("anthropic."):]
	}
	if i := strings.IndexAny(id, "@:"); i > 0 {
		id = id[:i]
	}
	if strings.HasPrefix(id, "claude-") {
		id = strings.ReplaceAll(id, ".", "-")
		if n := len(id) - 3; n > 0 && (strings.HasSuffix(id, "-v1") || strings.HasSuffix(id, "-v2")) {
			id = id[:n]
		}
	}
	return cutDate(strings.TrimSuffix(id, "-latest"))
}

// cutDate removes "-20250929" or "-2025-09-29".
func cutDate(id string) string {
	for _, form := range []string{"-dddddddd", "-dddd-dd-dd"} {
		n := len(id) - len(form)
		if n > 0 && matchesForm(id[n:], form) {
			return id[:n]
		}
	}
	return id
}

func matchesForm(s, form string) bool {
	for i := range len(form) {
		if form[i] == 'd' && (s[i] < '0' || s[i] > '9') || form[i] == '-' && s[i] != '-' {
			return false
		}
	}
	return true
}

// Known lists the catalogue's models of a provider's own API ("anthropic", "openai"), or of a compatible host
// (see CatalogueHost), in the catalogue's order.
func Known(provider string) []ModelInfo {
	var out []ModelInfo
	seen := map[string]bool{}
	for _, s := range sections() {
		if s.name != provider {
			continue
		}
		for id := range s.ids() {
			if !seen[id] {
				seen[id] = true
				out = append(out, Lookup(provider, id))
			}
		}
	}
	return out
}

// NearestModels lists up to three known model ids similar to id, nearest first; none if id is known.
func NearestModels(id string) []string {
	want := plainID(afterVendor(Resolve(id, nil)))
	if _, known := plainIDs()[want]; known || want == "" || len(want) > 100 {
		return nil
	}
	type match struct {
		id   string
		cost int
	}
	var best []match
	for name := range plainIDs() {
		limit := max(2, len(want)/4)
		if strings.HasPrefix(name, want) || strings.HasPrefix(want, name) && len(name) > 4 {
			limit = max(limit, 12)
		}
		if d := fuzzy.Distance(want, name, limit); d > 0 && d <= limit {
			best = append(best, match{name, d})
		}
	}
	slices.SortFunc(best, func(a, b match) int {
		if a.cost != b.cost {
			return a.cost - b.cost
		}
		return strings.Compare(a.id, b.id)
	})
	var out []string
	for _, m := range best[:min(3, len(best))] {
		out = append(out, m.id)
	}
	return out
}
