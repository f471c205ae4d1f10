package model

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/lazyregexp"
	"github.com/netwright/netwright/pkg/tasks"
)

// userHooks installs the hooks of the documents, which are units that users want on the node. A
// hook without a manifest names an existing unit. A hook that is disabled is stopped. No task
// waits for a hook, because a hook may be ordered after the agent. A pass checks at its end that a
// hook has started. kubelet waits only for a hook whose unit is ordered before kubelet.
func (b *builder) userHooks() error {
	for _, h := range b.in.Node.Hooks {
		meta := tasks.Meta{From: h.Origin.String(), Why: whyHooks, Refused: h.Refused}
		state := tasks.UnitState{Meta: meta, Name: h.Name, Enabled: &h.Enabled, Active: &h.Enabled, NoBlock: true}
		if !h.Enabled {
			b.add(state)
			continue
		}
		state.Within = cmp.Or(time.Duration(h.Timeout), hookTimeout)
		if !beforeKubelet(h) {
			state.At = graph.AfterKubelet
		}
		if h.Manifest.IsZero() {
			state.Requires = b.readBy(h.Name, nil)
			b.add(state)
			continue
		}
		unit := tasks.Unit{Meta: meta, Name: h.Name, Content: []byte(hookUnit(h))}
		unit.Requires = b.readBy(h.Name, unit.Content)
		unit.Effects = append(unit.Effects, tasks.Restart(h.Name)) // a running process still has the old text
		// Environment= may contain secrets, which a plan must not show.
		unit.Secret = true
		state.Requires = append(slices.Clone(unit.Requires), tasks.Restart(h.Name))
		b.add(unit)
		b.add(state)
	}
	return nil
}

// hookTimeout is the time limit for the start of a hook if the documents set none.
const hookTimeout = 2 * time.Minute

const kubelet = "kubelet.service"

// beforeKubelet reports whether the text of a hook's unit orders it before kubelet.
func beforeKubelet(h extras.Hook) bool {
	if !h.UseRawManifest {
		return slices.Contains(h.Before, kubelet)
	}
	before := systemd.ParseUnitFile([]byte(h.Manifest.Reveal())).Values("Unit", "Before")
	return slices.Contains(strings.Fields(strings.Join(before, " ")), kubelet)
}

// readBy returns the files of the documents that a unit reads, and its drop-ins. A file counts if
// the unit's text names it or a directory above it, in any setting (ExecStart=, EnvironmentFile=,
// LoadCredential= …). A unit may also read files that the documents do not contain; those are
// unknown here.
func (b *builder) readBy(unit string, text []byte) (out []graph.Key) {
	named := map[string]bool{}
	for _, found := range absolutePath().FindAllSubmatch(text, -1) {
		named[path.Clean(string(found[1]))] = true
	}
	for i := range b.in.Node.FileAssets {
		file := b.in.Node.FileAssets[i].Path
		reads := text == nil || strings.HasPrefix(file, "/etc/systemd/system/"+unit+".d/")
		for at := file; !reads && at != "/"; at = path.Dir(at) {
			reads = named[at]
		}
		if reads {
			out = append(out, tasks.FileKey(file))
		}
	}
	return out
}

// absolutePath matches paths in the settings of a unit: after a space, a quote, =, : or one of the
// prefix characters of a program or of an optional file.
var absolutePath = lazyregexp.New(`(?:^|[\s"'=:,;@+!|-])(/[\w/.@+%~-]+)`)

// hookUnit returns the text of a hook's unit. As in kOps, the manifest is the [Service] section
// unless it is a whole unit (useRawManifest). A hook without an [Install] section is wanted by
// multi-user.target, so that it starts at each boot, as with nodeup. Without that, systemd would
// not keep it enabled and would forget that it ran.
func hookUnit(h extras.Hook) string {
	const install = "\n[Install]\nWantedBy=multi-user.target\n"
	if h.UseRawManifest {
		text := strings.TrimRight(h.Manifest.Reveal(), "\n") + "\n"
		if !systemd.ParseUnitFile([]byte(text)).Installs() {
			text += install
		}
		return text
	}
	var text strings.Builder
	text.WriteString(header + "[Unit]\nDescription=Hook " + strings.TrimSuffix(h.Name, ".service") + "\n")
	for _, r := range h.Requires {
		text.WriteString("Requires=" + r + "\n")
	}
	for _, before := range h.Before {
		text.WriteString("Before=" + before + "\n")
	}
	text.WriteString("\n[Service]\n" + strings.TrimRight(h.Manifest.Reveal(), "\n") + "\n" + install)
	return text.String()
}
