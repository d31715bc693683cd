package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"testing"
)

// hop is a process that starts its successor and ends, over and over: never more than two at a time, and
// none lives long enough to be found and signalled by its pid. It stops by itself when its folder is gone.
const hop = `echo '{ echo x >"$1/beat"; } 2>/dev/null || exit; bash "$0" "$1" &' >hop; `

func TestWhatMovesOnFasterThanItIsFoundIsEnded(t *testing.T) {
	for name, text := range map[string]string{
		"left behind":    hop + `bash hop "$PWD" & while [ ! -s beat ]; do :; done`,
		"twenty of them": hop + `for i in {1..20}; do bash hop "$PWD" & done; while [ ! -s beat ]; do :; done`,
	} {
		t.Run(name, func(t *testing.T) {
			exit, out, dir := script(t, newRunner(t), text)
			if exit.Code != 0 || exit.Alive != 0 {
				t.Errorf("got %+v, %s", exit, out)
			}
			for _, st := range allProcs() {
				line, _ := os.ReadFile("/proc/" + strconv.Itoa(st.pid) + "/cmdline")
				if st.state != 'Z' && bytes.Contains(line, []byte(dir)) {
					t.Errorf("process %d still runs: %q", st.pid, line)
				}
			}
		})
	}
}
