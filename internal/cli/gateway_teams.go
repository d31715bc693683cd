package cli

import (
	"cmp"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/face/gateway/teams"
)

func teamsCommand(p *program, o *Options) *cobra.Command {
	var f gateFlags
	c := &cobra.Command{
		Use: "teams", Short: "Converse by a bot of Microsoft Teams", Args: noArgs,
		Long: `Let people converse with sessions by a bot of Microsoft Teams, until interrupted. The settings name its application and
tenant; TEAMS_APP_PASSWORD is its secret. Only object ids of --allow, of the settings and of lathe gateway pair are heard.
See docs/gateways.md.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.runGates(c, o, f, func(cfg *config.Config) ([]gate, error) {
				g, err := p.teamsGate(cfg)
				return []gate{g}, err
			})
		},
	}
	addGateFlags(c.Flags(), o, &f)
	return c
}

func (p *program) teamsGate(cfg *config.Config) (gate, error) {
	set := cfg.Settings.Gateway.Teams
	password := cmp.Or(set.Password, os.Getenv("TEAMS_APP_PASSWORD"))
	if set.AppID == "" || set.Tenant == "" || password == "" {
		return gate{}, usage("docs/gateways.md says how to register a bot", "gateway.teams needs appId, tenant and "+
			"password (or TEAMS_APP_PASSWORD)")
	}
	client, err := httpClient(cfg.Settings.Network)
	if err != nil {
		return gate{}, err
	}
	t := teams.New(teams.Options{
		AppID: set.AppID, Password: password, Tenant: set.Tenant, Cloud: set.Cloud, Listen: set.Listen,
		LoginBase: os.Getenv("TEAMS_LOGIN_BASE"), HTTP: client, Log: gateLog(p.err).With("gateway", "teams"),
	})
	access := accessOf(lower(set.Users), lower(set.Approvers), set.Chats)
	for id, r := range access.Chats {
		r.Users, r.Approvers = lower(r.Users), lower(r.Approvers)
		access.Chats[id] = r
	}
	return gate{t, access, t.Check}, nil
}

// lower are ids as the service writes them.
func lower(ids []string) (out []string) {
	for _, id := range ids {
		out = append(out, strings.ToLower(id))
	}
	return out
}
