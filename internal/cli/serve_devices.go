package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"rsc.io/qr"

	"github.com/lathe-dev/lathe/client"
	"github.com/lathe-dev/lathe/internal/face/server"
)

func servePairCommand(p *program) *cobra.Command {
	var scopes string
	var days int
	c := &cobra.Command{
		Use: "pair", Short: "Print a code with which a device gets its token", Args: noArgs,
		Long: "Have the running server make a code, and print it as text and as a QR code. It works once, within five " +
			"minutes.",
		RunE: func(c *cobra.Command, _ []string) error {
			return p.pair(c.Context(), client.NewPairing{Scopes: strings.Split(scopes, ","), Days: days})
		},
	}
	c.Flags().StringVar(&scopes, "scopes", "read,prompt,approve", "a `list` of what the device may do")
	c.Flags().IntVar(&days, "days", 0, "its token lives so many `days`; 0: until it is revoked")
	return c
}

// serverHere is the server that runs on this machine.
func serverHere() *client.Client { return client.Unix(serveSocket()) }

func (p *program) pair(ctx context.Context, n client.NewPairing) error {
	made, err := serverHere().BeginPairing(ctx, n)
	if err != nil {
		return &Error{Code: exitFailed, Err: err, Hint: "start the server: lathe serve --listen 127.0.0.1:7000"}
	}
	text := made.Code
	if len(made.URLs) > 0 {
		text = made.URLs[0]
	}
	if p.outTTY {
		if err := printQR(p.out, text); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.out, "code: %s-%s\n", made.Code[:5], made.Code[5:])
	for _, u := range made.URLs {
		fmt.Fprintln(p.out, u)
	}
	_, err = fmt.Fprintf(p.out, "it works once, until %s\n", made.Expires.Local().Format("15:04:05"))
	return err
}

// quiet is the margin that a QR code needs, in modules (ISO/IEC 18004, section 6.3.8: four; two are read too).
const quiet = 2

// printQR writes a QR code with two modules in each character, dark on light.
func printQR(w io.Writer, text string) error {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return err
	}
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		b.WriteString("\x1b[30;107m")
		for x := -quiet; x < code.Size+quiet; x++ {
			switch up, down := code.Black(x, y), code.Black(x, y+1); {
			case up && down:
				b.WriteString("█")
			case up:
				b.WriteString("▀")
			case down:
				b.WriteString("▄")
			default:
				b.WriteString(" ")
			}
		}
		b.WriteString("\x1b[0m\n")
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func serveDevicesCommand(p *program) *cobra.Command {
	var asJSON bool
	devices := func() *server.Devices { return server.DevicesIn(serveFolder()) }
	c := &cobra.Command{
		Use: "devices", Short: "List the devices that may use the server", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := devices().List()
			if err != nil {
				return err
			}
			if asJSON {
				if all == nil {
					all = []server.Device{}
				}
				return writeJSON(p.out, all)
			}
			return p.printDevices(all)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	c.AddCommand(&cobra.Command{
		Use: "revoke ID", Short: "Revoke a device, by its id or name; its streams end", Args: oneDevice,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := jobPlace().Refuse(os.Getppid()); err != nil {
				return &Error{Code: exitFailed, Err: err, Hint: "run it outside of a session"}
			}
			d, err := devices().Revoke(args[0])
			if err != nil {
				return usage("lathe serve devices lists them", "%v", err)
			}
			_, err = fmt.Fprintf(p.out, "%s: revoked\n", d.ID)
			return err
		},
	})
	return c
}

func oneDevice(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("lathe serve devices lists them", "%s needs one device: its id or name", c.CommandPath())
	}
	return nil
}

func (p *program) printDevices(all []server.Device) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(p.err, "There are no devices. Pair one: lathe serve pair")
		return err
	}
	rows := [][]string{{"ID", "NAME", "MAY", "SINCE", "SEEN", "FROM"}}
	for _, d := range all {
		var scopes []string
		for _, s := range d.Scopes {
			scopes = append(scopes, string(s))
		}
		seen := "-"
		if !d.Seen.IsZero() {
			seen = age(time.Since(d.Seen))
		}
		rows = append(rows, []string{d.ID, d.Name, strings.Join(scopes, ","), age(time.Since(d.Made)), seen, orDash(d.From)})
	}
	_, err := io.WriteString(p.out, columns(rows, p.width()))
	return err
}
