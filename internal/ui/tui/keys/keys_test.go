package keys_test

import (
	"bytes"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

// pressed decodes the bytes that a terminal sends for keys.
func pressed(t *testing.T, raw string) []uv.KeyPressEvent {
	t.Helper()
	var out []uv.KeyPressEvent
	var d uv.EventDecoder
	for b := []byte(raw); len(b) > 0; {
		n, e := d.Decode(b)
		if k, ok := e.(uv.KeyPressEvent); ok {
			out = append(out, k)
		} else {
			t.Fatalf("%q is %T", raw, e)
		}
		b = b[n:]
	}
	return out
}

func TestAKeyHasOneNameInEveryTerminal(t *testing.T) {
	for _, tt := range []struct{ want, raw string }{
		{"ctrl+k", "\x0b"},
		{"ctrl+k", "\x1b[107;5u"},
		{"ctrl+k", "\x1b[27;5;107~"},
		{"ctrl+_", "\x1f"},
		{"alt+p", "\x1bp"},
		{"alt+p", "\x1b[112;3u"},
		{"alt+enter", "\x1b\r"},
		{"alt+enter", "\x1b[13;3u"},
		{"shift+enter", "\x1b[13;2u"},
		{"shift+enter", "\x1b[27;2;13~"},
		{"shift+tab", "\x1b[Z"},
		{"shift+tab", "\x1b[9;2u"},
		{"enter", "\r"},
		{"tab", "\t"},
		{"ctrl+j", "\n"},
		{"backspace", "\x7f"},
		{"shift+k", "K"},
		{"?", "?"},
		{"space", " "},
		{"ctrl+space", "\x00"},
		{"pgup", "\x1b[5~"},
		{"ctrl+home", "\x1b[1;5H"},
		{"alt+backspace", "\x1b\x7f"},
		{"super+z", "\x1b[122;9u"},
		{"ctrl+k", "\x1b[107;69u"}, // with caps lock
		{"f1", "\x1bOP"},
		{"é", "é"},
	} {
		got := pressed(t, tt.raw)
		if len(got) != 1 || keys.Stroke(got[0]) != tt.want {
			t.Errorf("%q is %q, want %q", tt.raw, keys.Stroke(got[0]), tt.want)
		}
	}
}

func TestAKeyOfAnotherAlphabetCountsByItsPlace(t *testing.T) {
	r := keys.NewResolver(keys.Default())
	p := r.Press(pressed(t, "\x1b[1089::99;5u")[0], keys.Chat) // ctrl and the Cyrillic letter on the key c
	if len(p.Hits) == 0 || p.Hits[0].Action != keys.Interrupt {
		t.Errorf("got %+v, want %s", p, keys.Interrupt)
	}
}

// do presses keys and returns the result of the last one.
func do(t *testing.T, m *keys.Map, raw string, contexts ...keys.Context) keys.Press {
	t.Helper()
	r := keys.NewResolver(m)
	var p keys.Press
	for _, k := range pressed(t, raw) {
		p = r.Press(k, contexts...)
	}
	return p
}

func TestTheInnermostContextIsAskedFirst(t *testing.T) {
	m := keys.Default()
	hit := func(c keys.Context, a keys.Action) keys.Hit { return keys.Hit{Context: c, Action: a} }
	for _, tt := range []struct {
		raw  string
		in   []keys.Context
		want []keys.Hit
	}{
		{"\t", []keys.Context{keys.Autocomplete, keys.Chat}, []keys.Hit{
			hit(keys.Autocomplete, keys.CompleteAccept),
			hit(keys.Chat, keys.Complete),
		}},
		{"\x10", []keys.Context{keys.Autocomplete, keys.Chat}, []keys.Hit{
			hit(keys.Autocomplete, keys.CompletePrevious),
			hit(keys.Global, keys.Palette),
		}},
		{"\x04", []keys.Context{keys.Chat}, []keys.Hit{hit(keys.Chat, keys.DeleteForward), hit(keys.Global, keys.Exit)}},
		{"\x02", []keys.Context{keys.Task, keys.Chat}, []keys.Hit{
			hit(keys.Task, keys.Background),
			hit(keys.Chat, keys.Left),
		}},
		{"\x18\x05", []keys.Context{keys.Chat}, []keys.Hit{hit(keys.Chat, keys.ExternalEditor)}},
		{"\x18b", []keys.Context{keys.Chat}, []keys.Hit{hit(keys.Global, keys.ToggleSidebar)}},
		{"x", []keys.Context{keys.Chat}, nil},
	} {
		if diff := cmp.Diff(tt.want, do(t, m, tt.raw, tt.in...).Hits); diff != "" {
			t.Errorf("%q in %v (-want +got):\n%s", tt.raw, tt.in, diff)
		}
	}
}

func TestAChordIsPendingUntilItEnds(t *testing.T) {
	r := keys.NewResolver(keys.Default())
	key := func(raw string) keys.Press { return r.Press(pressed(t, raw)[0], keys.Chat) }
	if p := key("\x18"); !p.Pending || r.Pending() != "ctrl+x" {
		t.Fatalf("after ctrl+x: %+v, pending %q", p, r.Pending())
	}
	if p := key("\x11"); p.Unknown != "ctrl+x ctrl+q" || !p.Used || r.Pending() != "" {
		t.Fatalf("after a wrong key: %+v, pending %q", p, r.Pending())
	}
	key("\x18")
	if p := key("\x1b"); !p.Used || p.Unknown != "" || len(p.Hits) > 0 || r.Pending() != "" {
		t.Fatalf("after esc: %+v, pending %q", p, r.Pending())
	}
	key("\x18")
	if p := key("n"); len(p.Hits) != 1 || p.Hits[0].Action != "command:new" {
		t.Fatalf("after ctrl+x n: %+v", p)
	}
	key("\x18")
	r.Cancel()
	if p := key("n"); p.Pending || p.Used || len(p.Hits) > 0 {
		t.Fatalf("after cancelling, n is %+v", p)
	}
}

func TestBothFormsOfSettingsBindAndUnbind(t *testing.T) {
	for name, settings := range map[string]string{
		"contexts": `{"$schema": "x", "bindings": [{"context": "Chat", "bindings": {"ctrl+k": "chat:stash", "ctrl+G": null, "meta+shift+K": "/review all"}}]}`,
		"list":     `[{"context": "chat", "bindings": {"ctrl+k": "chat:stash", "ctrl+g": null, "option+shift+k": "command:review all"}}]`,
		"flat":     "{\"ctrl+k\": \"chat:stash\", // a comment\n \"ctrl+g\": null, \"alt+shift+k\": \"command:review all\",}",
	} {
		t.Run(name, func(t *testing.T) {
			m, problems := keys.Load([]byte(settings))
			if len(problems) > 0 {
				t.Fatalf("problems: %v", problems)
			}
			if p := do(t, m, "\x0b", keys.Chat); len(p.Hits) != 1 || p.Hits[0].Action != keys.Stash {
				t.Errorf("ctrl+k is %+v", p)
			}
			if p := do(t, m, "\x07", keys.Chat); len(p.Hits) != 0 {
				t.Errorf("ctrl+g still is %+v", p)
			}
			if p := do(t, m, "\x1b[107;4u", keys.Chat); len(p.Hits) != 1 || p.Hits[0].Action != "command:review all" {
				t.Errorf("alt+shift+k is %+v", p)
			}
			if got := m.Keys(keys.Chat, keys.Stash); got[0] != "ctrl+k" {
				t.Errorf("the key to show for %s is %v, want the user's first", keys.Stash, got)
			}
		})
	}
}

func TestAllKeysOfAnActionCanBeSet(t *testing.T) {
	m,
		problems := keys.Load(
		[]byte(`{"chat:submit": ["ctrl+enter", "super+enter"], "chat:newline": "enter", "chat:stash": null}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff([]string{"ctrl+enter", "super+enter"}, m.Keys(keys.Chat, keys.Submit)); diff != "" {
		t.Error(diff)
	}
	if p := do(t, m, "\r", keys.Chat); len(p.Hits) != 1 || p.Hits[0].Action != keys.Newline {
		t.Errorf("enter is %+v", p)
	}
	if k := m.Key(keys.Stash); k != "" {
		t.Errorf("%s still has the key %q", keys.Stash, k)
	}
}

func TestTheLeaderCanBeChanged(t *testing.T) {
	m, problems := keys.Load([]byte(`{"leader": "ctrl+space", "<leader>z": "app:redraw"}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if p := do(t, m, "\x00n", keys.Chat); len(p.Hits) != 1 || p.Hits[0].Action != "command:new" {
		t.Errorf("leader n is %+v", p)
	}
	if p := do(t, m, "\x00z", keys.Chat); len(p.Hits) != 1 || p.Hits[0].Action != keys.Redraw {
		t.Errorf("leader z is %+v", p)
	}
	if p := do(t, m, "\x18n", keys.Chat); p.Unknown == "" {
		t.Errorf("the old leader still works: %+v", p)
	}
}

func TestWhatDoesNotHoldIsReportedWithItsPlace(t *testing.T) {
	for _, tt := range []struct{ settings, want string }{
		{
			"{\n\"ctrl+q\": \"chat:sumbit\"}",
			`line 2, Chat "ctrl+q": there is no action "chat:sumbit"; did you mean "chat:submit"?`,
		},
		{`{"ctrl+q": "plugin:install"}`, `Chat "ctrl+q": there is no action "plugin:install"; docs/keys.md lists them`},
		{`{"strg+q": "chat:stash"}`, `Chat "strg+q": "strg+q" has an unknown modifier "strg"; use ctrl, alt, shift or super`},
		{`{"ctrl+foo": "chat:stash"}`, `Chat "ctrl+foo": "ctrl+foo" names no key`},
		{`{"": "chat:stash"}`, `the key is empty`},
		{`{"shift+/": "chat:stash"}`, `"shift+/" depends on the keyboard; write the character that the key types, as "?"`},
		{`[{"context": "Nowhere", "bindings": {}}]`, `there is no context "Nowhere"; there are Global, Chat`},
		{`[{"bindings": {}}]`, `a block needs a "context" and "bindings"`},
		{`{"bindings": 3}`, `a list of {"context": ..., "bindings": {...}} is expected`},
		{`{"bindings": [], "ctrl+k": "chat:stash"}`, `"ctrl+k": not known here`},
		{`{"a": "chat:stash"}`, `Chat "a": a could not be typed any more; take a key with ctrl or alt`},
		{`{"A b": "chat:stash"}`, `shift+a could not be typed any more`},
		{`{"ctrl+c": "chat:stash"}`, `ctrl+c stays the way out; take another key`},
		{`{"ctrl+c": null}`, `ctrl+c stays: it is the way out`},
		{`{"app:interrupt": null, "ctrl+c x": "chat:stash"}`, `ctrl+c stays the way out`},
		{`{"ctrl+m": "chat:stash"}`, `most terminals send the same for ctrl+m and enter; take another key`},
		{
			`{"ctrl+q": "chat:stash", "ctrl+q ctrl+a": "chat:undo"}`,
			`Chat "ctrl+q": ctrl+q ctrl+a (chat:undo) cannot be reached any more: it begins with this key`,
		},
		{
			`{"ctrl+g ctrl+a": "chat:undo"}`,
			`Chat "ctrl+g ctrl+a": ctrl+g no longer is chat:externalEditor: it begins this chord`,
		},
		{`{"ctrl+x": "chat:stash"}`, `Chat "ctrl+x": ctrl+x n (command:new) cannot be reached any more`},
		{
			"{\"ctrl+q\": \"chat:stash\",\n\"ctrl+Q\": \"chat:undo\"}",
			`line 2, Chat "ctrl+Q": bound twice, first to chat:stash and here to chat:undo, which holds`,
		},
		{`{"chat:submit": null}`, `no key sends the prompt any more; bind one to chat:submit`},
		{`{"chat:submit": 3}`, `a key, a list of keys, or null is expected`},
		{`{"ctrl+q": 3}`, `the name of an action, or null, is expected`},
		{`{"leader": "x"}`, `leader: x has its own meaning in the prompt; take a key with ctrl or alt`},
		{`{"leader": "ctrl+x ctrl+y"}`, `the leader is one key`},
		{`"ctrl+k"`, `keybindings are an object or a list; see docs/keys.md`},
		{`{"ctrl+k"`, `not JSON`},
		{`{} {}`, `not JSON`},
	} {
		m, problems := keys.Load([]byte(tt.settings))
		var all []string
		for _, p := range problems {
			all = append(all, p.String())
		}
		if got := strings.Join(all, "\n"); !strings.Contains(got, tt.want) {
			t.Errorf("%s:\n got %q\nwant %q", tt.settings, got, tt.want)
		}
		if p := do(t, m, "\x03", keys.Chat); len(p.Hits) == 0 || p.Hits[len(p.Hits)-1].Action != keys.Interrupt {
			t.Errorf("%s: ctrl+c is %+v", tt.settings, p)
		}
	}
}

func TestTheTableContradictsItselfNowhere(t *testing.T) {
	m, problems := keys.Load([]byte(`{}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	seen := map[string]keys.Action{}
	for _, b := range m.Bindings() {
		if b.Help == "" {
			t.Errorf("%s has no help", b.Action)
		}
		for _, k := range b.Keys {
			at := string(b.Context) + " " + k
			if old, twice := seen[at]; twice {
				t.Errorf("%s is bound to %s and to %s", at, old, b.Action)
			}
			seen[at] = b.Action
		}
	}
	for i, b := range keys.Table() {
		if got := m.Bindings()[i]; len(got.Keys) != len(b.Keys) {
			t.Errorf("%s %s: %v in the table, %v in the map", b.Context, b.Action, b.Keys, got.Keys)
		}
	}
}

func TestNoSettingsBreakTheMap(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		`{`, `}`, `[`, `]`, `:`, `,`, `"ctrl+k"`, `"ctrl+c"`, `"<leader>n"`,
		`"chat:submit"`, `"bindings"`, `"context"`, `"Chat"`, `null`, `1`, `"+"`, `"ctrl++"`, `""`, ` `, "\n", `"leader"`,
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces"), "")
		m, _ := keys.Load([]byte(text))
		r := keys.NewResolver(m)
		p := r.Press(uv.KeyPressEvent{Code: 'c', Mod: uv.ModCtrl}, keys.Chat)
		if len(p.Hits) == 0 || p.Hits[len(p.Hits)-1].Action != keys.Interrupt {
			t.Fatalf("%q: ctrl+c is %+v", text, p)
		}
	})
}

func TestLoadLeavesTheSettingsAlone(t *testing.T) {
	text := []byte("{\"ctrl+k\": null, /* why */ }")
	before := bytes.Clone(text)
	keys.Load(text)
	if !bytes.Equal(before, text) {
		t.Errorf("the settings became %q", text)
	}
}

func BenchmarkPress(b *testing.B) {
	r := keys.NewResolver(keys.Default())
	k := uv.KeyPressEvent{Code: 'a', Text: "a"}
	b.ReportAllocs()
	for b.Loop() {
		r.Press(k, keys.Autocomplete, keys.Chat, keys.Scroll)
	}
}

func BenchmarkDefault(b *testing.B) {
	for b.Loop() {
		keys.Default()
	}
}
