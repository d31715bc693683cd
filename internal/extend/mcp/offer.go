package mcp

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/approved"
	"github.com/lathe-dev/lathe/internal/base/regular"
	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
)

// offer is what a server has beside tools. Prompts are kept for the next run, so that they can be typed before the
// server runs.
type offer struct {
	mu        sync.Mutex
	recalled  bool
	prompts   []client.Prompt
	resources []client.Resource // nil: not listed since the last change
	templates []client.Resource
	listed    bool
}

func (v *server) offerFile() string { return strings.TrimSuffix(v.file, ".json") + ".prompts.json" }

// learn reads the prompts of a server, and selects the messages of its log.
func (v *server) learn(ctx context.Context, c *client.Client) {
	level := v.entry.LogLevel
	if level == "" {
		level = "info"
	}
	if err := c.SetLogLevel(ctx, level); err != nil && c.Err() == nil {
		v.log.note("the level of the log cannot be set: " + err.Error())
	}
	prompts, err := c.Prompts(ctx)
	if err != nil {
		if c.Err() == nil {
			v.log.note("the list of prompts cannot be read: " + err.Error())
		}
		return
	}
	o := &v.offer
	o.mu.Lock()
	defer o.mu.Unlock()
	o.prompts, o.recalled = prompts, true
	if v.file == "" {
		return
	}
	if len(prompts) == 0 {
		_ = os.Remove(v.offerFile()) // mostly there is none
		return
	}
	if err := approved.WriteJSON(v.offerFile(), prompts); err != nil {
		v.log.note(err.Error())
	}
}

// knownPrompts are the prompts that the server lists, or listed in an earlier run.
func (v *server) knownPrompts() []client.Prompt {
	o := &v.offer
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.recalled && v.file != "" {
		o.recalled = true
		if data, err := regular.ReadFile(v.offerFile()); err == nil {
			if err := json.Unmarshal(data, &o.prompts); err != nil {
				v.log.note("the prompts of an earlier run cannot be read: " + err.Error())
			}
		}
	}
	return o.prompts
}

// forgetResources makes the next use list the resources again.
func (v *server) forgetResources() {
	v.offer.mu.Lock()
	defer v.offer.mu.Unlock()
	v.offer.listed = false
}

// listResources lists the resources and templates of a server, which is started for it.
func (v *server) listResources(ctx context.Context) (resources, templates []client.Resource, err error) {
	o := &v.offer
	o.mu.Lock()
	if o.listed {
		defer o.mu.Unlock()
		return o.resources, o.templates, nil
	}
	o.mu.Unlock()
	c, err := v.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	if resources, err = c.Resources(ctx); err != nil {
		return nil, nil, v.hidden.plain(err)
	}
	if templates, err = c.Templates(ctx); err != nil {
		templates = nil // a server may have resources and know no templates
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resources, o.templates, o.listed = resources, templates, true
	return resources, templates, nil
}
