package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/modelsdev"
)

// maxSource is the size in bytes above which the answer of a models URL is not read: models.dev has 3 MB.
const maxSource = 32 << 20

// updateTime bounds an update.
const updateTime = 2 * time.Minute

// catalogueFile is the user's copy of the model catalogue, "" where lathe keeps nothing.
func catalogueFile(paths config.Paths) string {
	if paths.DataHome == "" {
		return ""
	}
	return filepath.Join(paths.DataHome, "models.tsv")
}

func modelsUpdateCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "update", Short: "Fetch a newer catalogue of models", Args: noArgs,
		Long: `Fetch the limits and prices of models from the address modelsUrl of the settings: models.dev, or a file of lathe's own form. The copy is
checked, and replaces the one before as a whole. Its models come before the built-in ones.`,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, _, err := loadConfig(o)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), updateTime)
			defer cancel()
			return p.updateModels(ctx, cfg)
		},
	}
}

func (p *program) updateModels(ctx context.Context, cfg *config.Config) error {
	file, address := catalogueFile(cfg.Paths()), cfg.Settings.ModelsURL
	if file == "" {
		return usage("set HOME or XDG_DATA_HOME", "there is no folder for the catalogue")
	}
	if !safeAddress(address) {
		return usage("use an address that begins with https://", "modelsUrl: %q is not fetched", address)
	}
	source, err := fetchSource(ctx, cfg, address)
	if err != nil {
		return &Error{
			Code: exitFailed, Msg: "the catalogue was not updated", Err: err,
			Hint: "check modelsUrl in your settings and the network, and try again",
		}
	}
	lines, n, err := catalogueOf(source)
	if err != nil {
		return &Error{
			Code: exitFailed, Msg: "the catalogue was not updated: the answer of " + address, Err: err,
			Hint: "set modelsUrl to https://models.dev/api.json or to a file of that form",
		}
	}
	if err := replaceFile(file, lines); err != nil {
		return &Error{Code: exitFailed, Msg: "the catalogue was not updated", Err: err}
	}
	_, err = fmt.Fprintf(p.out, "%d models are in %s; lathe models lists those of your providers. To use the built-in "+
		"catalogue again, remove the file.\n", n, escape(file))
	return err
}

// safeAddress reports whether no one on the way can change what comes from an address.
func safeAddress(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

func fetchSource(ctx context.Context, cfg *config.Config, address string) ([]byte, error) {
	n := cfg.Settings.Network
	client, err := llm.HTTPClient(llm.HTTPOptions{
		Proxy: n.Proxy, NoProxy: strings.Join(n.NoProxy, ","),
		CACerts: n.CACerts,
	})
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", address, resp.Status)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxSource+1))
	if err == nil && len(b) > maxSource {
		err = fmt.Errorf("%s sends more than %d MB", address, maxSource>>20)
	}
	return b, err
}

// catalogueOf returns the catalogue in an answer, and the number of its models.
func catalogueOf(source []byte) ([]byte, int, error) {
	if bytes.HasPrefix(bytes.TrimSpace(source), []byte("{")) {
		var err error
		if source, _, err = modelsdev.Convert(source); err != nil {
			return nil, 0, err
		}
	}
	n, err := llm.CheckCatalogue(source)
	return source, n, err
}

// replaceFile writes a file as a whole: a reader sees the old one or the new one.
func replaceFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".models-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
