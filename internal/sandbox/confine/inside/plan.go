//go:build linux && (amd64 || arm64)

package inside

import "errors"

// Overlay is a folder whose changes go to another one, as in overlayfs.
type Overlay struct{ Dir, Upper, Work string }

// Plan is a policy resolved to mounts and rules, so that the helper decides nothing. It is encoded as NUL-terminated
// strings: a decoder of a richer format would have to be initialized first.
type Plan struct {
	Namespaces bool // this process is the first of new namespaces
	ABI        int  // Landlock's version
	Dir        string
	Temp       string
	TempWork   string // not empty: Temp and it are the upper and work folders of an overlay on /tmp
	HostNet    bool   // the network namespace is lathe's own
	Processes  int    // the most processes and threads; 0: no limit
	Proxy      bool
	Sockets    bool
	Write      []string // writable mounts, parents first
	Empty      []string // folders replaced by empty ones
	Show       []string // read-only paths that stay visible below a private folder
	Pin        []string // folders bind-mounted on themselves so that they cannot be renamed, parents first
	Protect    []string // mounted read-only, parents first
	Mask       []string
	Overlay    []Overlay
}

const maxPlan = 128 << 10 // bytes; it is one message

var errPlanSize = errors.New("too many paths in the sandbox's policy: protect or mask fewer")

// Encode returns the plan in the form that the helper reads.
func (p *Plan) Encode() ([]byte, error) {
	var b []byte
	put := func(s string) { b = append(append(b, s...), 0) }
	flag := func(on bool) string {
		if on {
			return "1"
		}
		return ""
	}
	list := func(paths []string) {
		for _, path := range paths {
			put(path)
		}
		put("")
	}
	put(flag(p.Namespaces))
	put(string(rune('0' + p.ABI)))
	put(p.Dir)
	put(p.Temp)
	put(p.TempWork)
	put(flag(p.HostNet))
	put(decimal(p.Processes))
	put(flag(p.Proxy))
	put(flag(p.Sockets))
	list(p.Write)
	list(p.Empty)
	list(p.Show)
	list(p.Pin)
	list(p.Protect)
	list(p.Mask)
	for _, o := range p.Overlay {
		put(o.Dir)
		put(o.Upper)
		put(o.Work)
	}
	put("")
	if len(b) > maxPlan {
		return nil, errPlanSize
	}
	return b, nil
}

// decimal and number are strconv's, which this process would have to load.
func decimal(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + string(rune('0'+n%10))
}

func number(s string) (n int) {
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}

// decodePlan reverses Encode.
func decodePlan(b []byte) (*Plan, bool) {
	ok := true
	next := func() string {
		for i, c := range b {
			if c == 0 {
				s := string(b[:i])
				b = b[i+1:]
				return s
			}
		}
		ok = false
		return ""
	}
	list := func() (out []string) {
		for s := next(); s != ""; s = next() {
			out = append(out, s)
		}
		return out
	}
	digit := func() int {
		s := next()
		if len(s) != 1 {
			ok = false
			return 0
		}
		return int(s[0] - '0')
	}
	p := &Plan{Namespaces: next() != "", ABI: digit(), Dir: next(), Temp: next(), TempWork: next(), HostNet: next() != "", Processes: number(next()), Proxy: next() != "", Sockets: next() != ""}
	p.Write, p.Empty, p.Show, p.Pin, p.Protect, p.Mask = list(), list(), list(), list(), list(), list()
	for dir := next(); dir != ""; dir = next() {
		p.Overlay = append(p.Overlay, Overlay{dir, next(), next()})
	}
	return p, ok && len(b) == 0
}
