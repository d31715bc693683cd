package tui

import (
	"runtime"
	"time"

	"github.com/charmbracelet/colorprofile"

	"github.com/lathe-dev/lathe/internal/term"
	"github.com/lathe-dev/lathe/internal/tui/theme"
)

func newLook(o Options) look {
	l := look{now: time.Now, reduced: o.ReducedMotion, links: true}
	l.profile = profile(o)
	l.name, l.dark = o.Theme, darkBackground(o.Getenv)
	th, err := theme.Load(l.name, l.dark, l.profile)
	if err != nil {
		th = theme.Must("auto", l.dark, l.profile)
		l.problem = err
	}
	l.theme = th
	return l
}

// profile is how many colours the terminal shows.
func profile(o Options) colorprofile.Profile {
	switch depth := term.ColorDepth(o.Getenv, true, runtime.GOOS); {
	case depth >= term.TrueColor:
		return colorprofile.TrueColor
	case depth >= term.Color256:
		return colorprofile.ANSI256
	case depth >= term.Color16:
		return colorprofile.ANSI
	}
	return colorprofile.ASCII
}

// darkBackground is a first guess, until the terminal answers: some terminals tell it in COLORFGBG.
func darkBackground(getenv func(string) string) bool {
	switch fgbg := getenv("COLORFGBG"); {
	case fgbg == "":
		return true
	default:
		last := fgbg[len(fgbg)-1]
		white := last == '7' || len(fgbg) > 1 && fgbg[len(fgbg)-2] == '1' && last == '5'
		return !white
	}
}

func spinner(n int) string { return theme.Spinner[n%len(theme.Spinner)] }
