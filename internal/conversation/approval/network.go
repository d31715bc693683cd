package approval

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/netproxy"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// networkAccess is the name under which rules speak of the hosts of confined commands; the tool catalogue declares it.
const networkAccess = "SandboxNetworkAccess"

// Network makes the network of the confined command of a call: rules decide on a host, else a person does, and the
// connections are recorded in the session. Hosts in named were approved with the command: only deny rules and the modes
// that ask nothing close them.
func (p *Approver) Network(callID, command string, named []string) boundary.Network {
	var shown sync.Map
	return boundary.Network{
		Ask: func(ctx context.Context, r netproxy.Request) netproxy.Verdict {
			return p.host(ctx, callID, command, slices.Contains(named, r.Target.Host), r)
		},
		Record: func(c netproxy.Connection) {
			_ = p.Journal.Add(session.Connection{ // what cannot be written, the journal reports
				CallID: callID, Host: c.Host, Port: int(c.Port), Address: c.Address, Protocol: c.Protocol, Program: c.Program,
				Allowed: c.Allowed, Reason: c.Reason,
				Sent: c.Sent, Received: c.Received, DurationMS: c.Duration.Milliseconds(),
			})
			text := connectionText(c)
			if _, old := shown.LoadOrStore(text, true); !old {
				p.Journal.Publish(event.Notice{Level: "info", Text: text})
			}
		},
	}
}

// connectionText is the line that a person sees once for each host of a command.
func connectionText(c netproxy.Connection) string {
	host := c.Host
	if c.Port != 80 && c.Port != 443 && c.Port != 0 {
		host = fmt.Sprintf("%s, port %d", host, c.Port)
	}
	if !c.Allowed {
		return fmt.Sprintf("network: %s refused: %s", host, c.Reason)
	}
	return "network: " + host
}

// host decides on a host that a confined command wants to reach. No mode and no model opens one: where nobody can be
// asked, only rules do.
func (p *Approver) host(ctx context.Context, callID, command string, named bool, r netproxy.Request) netproxy.Verdict {
	a, err := hostApproval(callID, command, r)
	if err != nil {
		return netproxy.Verdict{Reason: err.Error()}
	}
	d := p.judgeHost(&a)
	if named && d.Effect == permission.Ask && d.Rule == "" && !d.Confirm {
		d = permission.Decision{
			Effect: permission.Allow, Layer: permission.LayerAsk,
			Reason: "the command names it, and was approved",
		}
	}
	if d.Effect == permission.Ask || d.Confirm {
		if d, err = p.askHost(ctx, a, r); err != nil {
			return netproxy.Verdict{Reason: "the question was not answered: " + err.Error()}
		}
	}
	if err := p.note(ctx, a, d); err != nil {
		return netproxy.Verdict{Reason: "the decision could not be recorded: " + err.Error()}
	}
	v := netproxy.Verdict{Allowed: d.Effect == permission.Allow, Reason: d.Reason}
	if d.Rule != "" {
		v.Reason = "the rule " + d.Rule
	}
	if !v.Allowed && d.Guidance != "" {
		v.Reason += ": " + d.Guidance
	}
	return v
}

// hostApproval is the question as a call of the name that rules on hosts have.
func hostApproval(callID, command string, r netproxy.Request) (agent.Approval, error) {
	input, err := json.Marshal(struct {
		Host    string `json:"host"`
		Port    uint16 `json:"port"`
		Program string `json:"program,omitempty"`
		Command string `json:"command"`
	}{r.Target.Host, r.Target.Port, r.Program, command})
	if err != nil {
		return agent.Approval{}, err
	}
	return agent.Approval{
		Request: permission.Request{
			CallID: callID + "/" + r.Target.Host, Tool: networkAccess, Input: input,
			Accesses: []permission.Access{permission.NetAccess(r.Target.Host)},
		},
		Call: llm.ToolCall{ID: callID, Name: networkAccess, Input: input},
	}, nil
}

// judgeHost decides by rules. The modes that ask nothing refuse.
func (p *Approver) judgeHost(a *agent.Approval) permission.Decision {
	a.Dir, a.Place, a.Agent = p.Workspace.Dir(), p.Workspace.Place(), p.Chain
	switch a.Mode = p.Mode(); a.Mode {
	case permission.Bypass:
		a.Mode = permission.DontAsk
	case permission.DontAsk:
	default:
		a.Mode = permission.Default
	}
	return p.Rules.Policy().Decide(a.Request)
}

func (p *Approver) askHost(ctx context.Context, a agent.Approval, r netproxy.Request) (permission.Decision, error) {
	if !p.Interactive {
		return permission.Decision{
			Effect: permission.Deny, Layer: permission.LayerAsk,
			Reason: "the host is not allowed, and nobody can be asked in this run; allow it in " +
				"sandbox.network.allowedDomains, or with --allowedTools \"" + hostRule(r.Target.Host) + "\"",
		}, nil
	}
	p.dialog.Lock() // one at a time, in order
	defer p.dialog.Unlock()
	if err := ctx.Err(); err != nil {
		return permission.Decision{}, err
	}
	if again := p.judgeHost(&a); again.Effect != permission.Ask && !again.Confirm {
		return again, nil // an answer given meanwhile covers this host too
	}
	group := netproxy.PresetOf(r.Target.Host)
	rules := make([]string, len(group.Hosts))
	for i, h := range group.Hosts {
		rules[i] = hostRule(h)
	}
	ans, err := p.Ask(ctx, event.Question{
		Agent: p.Chain, Title: "network access to " + r.Target.String(), Text: hostText(r), Permission: &a.Request,
		Reason:     hostReason(r),
		ReasonType: "sandbox", Call: &a.Call, Free: true, Options: hostOptions(group, rules),
	})
	if err != nil {
		return permission.Decision{}, err
	}
	return p.decided(rules, ans), nil
}

func hostRule(host string) string { return networkAccess + "(domain:" + host + ")" }

func hostText(r netproxy.Request) string {
	program := r.Program
	if program == "" {
		program = "the command"
	}
	return program + " wants to connect to " + r.Target.String()
}

func hostReason(r netproxy.Request) string {
	return hostText(r) + "; in the sandbox only hosts that you allow are reached, and data can be sent to them"
}

// hostOptions are the ways to answer. Hosts that belong together are allowed together.
func hostOptions(group netproxy.Preset, rules []string) []event.Option {
	out := permissionOptions(rules, false)
	out[0].Label = "Yes, for this command"
	for i := range out {
		if group.Name != "" && (out[i].ID == event.ChoiceSession || out[i].ID == event.ChoiceAlways) {
			out[i].Label = strings.Replace(out[i].Label, "Yes, ", "Yes, all of "+group.Name+" ", 1)
		}
	}
	return out
}
