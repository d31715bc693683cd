package program

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/fleet"
)

func (p *program) stats() *cobra.Command {
	var asJSON, watch bool
	c := &cobra.Command{
		Use: "stats", Short: "Show the queue, workers, cost, throughput and causes of failures", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(f *fleet.Fleet) error {
				for {
					s, err := f.Stats(c.Context())
					switch {
					case c.Context().Err() != nil:
						return nil
					case err != nil:
						return err
					case asJSON:
						err = p.json(s)
					case watch:
						_, err = fmt.Fprint(p.out, "\x1b[H\x1b[J"+text(s))
					default:
						_, err = io.WriteString(p.out, text(s))
					}
					if err != nil || !watch {
						return err
					}
					select {
					case <-time.After(time.Second):
					case <-c.Context().Done():
						return nil
					}
				}
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&watch, "watch", false, "show it live")
	return c
}

// text is a page for a terminal.
func text(s fleet.Stats) string {
	var b strings.Builder
	for _, state := range []fleet.State{
		fleet.Queued, fleet.Running, fleet.Done, fleet.Failed, fleet.Cancelled, fleet.Parked,
	} {
		fmt.Fprintf(&b, "%-10s %7d\n", state, s.Jobs[state])
	}
	drained := ""
	if s.Drained {
		drained = "  drained: no job begins"
	}
	fmt.Fprintf(&b, "\n%d workers, %d slots, %d jobs a minute, $%.4f spent%s\n", len(s.Workers), s.Slots, s.PerMinute,
		s.SpentUSD, drained)
	for _, w := range s.Workers {
		fmt.Fprintf(&b, "  %s %s  %d of %d: %s\n", oneLine(w.Host), w.ID, len(w.Running), w.Slots,
			strings.Join(w.Running, " "))
	}
	causes := make([]string, 0, len(s.Causes))
	for c := range s.Causes {
		causes = append(causes, c)
	}
	slices.SortFunc(causes, func(a, b string) int { return s.Causes[b] - s.Causes[a] })
	for _, c := range causes {
		fmt.Fprintf(&b, "  %6d × %s\n", s.Causes[c], oneLine(c))
	}
	return b.String()
}

//go:embed live.html
var page []byte

// serveWeb shows the fleet to browsers of this machine: it only reads.
func (p *program) serveWeb(ctx context.Context, f *fleet.Fleet, address string) (stop func(), err error) {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, usageError{fmt.Errorf("--web: %q is not an address of this machine alone, as 127.0.0.1:8222", address)}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'self' 'unsafe-inline'")
		_, _ = w.Write(page) // a browser that left
	})
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, r *http.Request) {
		s, err := f.Stats(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s) // a browser that left
	})
	own := l.Addr().String()
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if _, port, _ := net.SplitHostPort(own); r.Host != own && r.Host != "localhost:"+port { // DNS may lie
				http.Error(w, "another name", http.StatusForbidden)
				return
			}
			mux.ServeHTTP(w, r)
		})}
	go func() { _ = server.Serve(l) }() // it ends with stop
	fmt.Fprintf(p.err, "browsers see it at http://%s\n", own)
	return func() { _ = server.Close() }, nil
}
