package model

import (
	"strings"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/tasks"
)

// userHooks installs the hooks of the documents: units that people want on the node. One without a manifest names a unit that is
// already there; one that is disabled is stopped. Nothing waits for a hook: it may be ordered after us.
func (b *builder) userHooks() error {
	for _, h := range b.in.Node.Hooks {
		meta := tasks.Meta{From: h.Origin.String(), Why: whyHooks, Refused: h.Refused}
		state := tasks.UnitState{Meta: meta, Name: h.Name, Enabled: &h.Enabled, Active: &h.Enabled, NoBlock: true}
		if !h.Manifest.IsZero() && h.Enabled {
			unit := tasks.Unit{Meta: meta, Name: h.Name, Content: []byte(hookUnit(h))}
			unit.Then = append(unit.Then, tasks.Restart(h.Name)) // what runs from the old text
			state.After = append(state.After, tasks.Restart(h.Name))
			unit.Secret = true // Environment= may hold what nobody should read in a plan
			b.add(unit)
		}
		b.add(state)
	}
	return nil
}

// hookUnit is the text of a hook's unit. As in kOps the manifest is the [Service] section, unless it is a whole unit (useRawManifest).
func hookUnit(h config.Hook) string {
	if h.UseRawManifest {
		return strings.TrimRight(h.Manifest.Reveal(), "\n") + "\n"
	}
	var text strings.Builder
	text.WriteString(header + "[Unit]\nDescription=Hook " + strings.TrimSuffix(h.Name, ".service") + "\n")
	for _, r := range h.Requires {
		text.WriteString("Requires=" + r + "\n")
	}
	for _, before := range h.Before {
		text.WriteString("Before=" + before + "\n")
	}
	text.WriteString("\n[Service]\n" + strings.TrimRight(h.Manifest.Reveal(), "\n") + "\n\n[Install]\nWantedBy=multi-user.target\n")
	return text.String()
}
