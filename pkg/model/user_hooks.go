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

// userHooks installs the hooks of the documents: units that people want on the node. One without a
// manifest names a unit that is already there; one that is disabled is stopped. No task waits for a
// hook: it may be ordered after us. That it came up is looked at when all else is done, and kubelet
// is held back only for one that says of itself that it comes before kubelet.
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
		unit.Effects = append(unit.Effects, tasks.Restart(h.Name)) // what runs from the old text
		// Environment= may hold what nobody should read in a plan
		unit.Secret = true
		state.Requires = append(slices.Clone(unit.Requires), tasks.Restart(h.Name))
		b.add(unit)
		b.add(state)
	}
	return nil
}

// hookTimeout is how long a hook's start may take where the documents do not say.
const hookTimeout = 2 * time.Minute

const kubelet = "kubelet.service"

// beforeKubelet says that a hook is ordered before kubelet, by its own text.
func beforeKubelet(h extras.Hook) bool {
	if !h.UseRawManifest {
		return slices.Contains(h.Before, kubelet)
	}
	before := systemd.ParseUnitFile([]byte(h.Manifest.Reveal())).Values("Unit", "Before")
	return slices.Contains(strings.Fields(strings.Join(before, " ")), kubelet)
}

// readBy are the files of the documents that a unit's text names, or that are in a directory which
// it names, wherever it does (ExecStart=, EnvironmentFile=, LoadCredential= …), and its drop-ins.
// What a unit reads that the documents do not bring, nobody here knows: it may be any of them.
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

// absolutePath finds paths in the settings of a unit: after a space, a quote, =, : or one of the
// prefixes of a program or a file that may be absent.
var absolutePath = lazyregexp.New(`(?:^|[\s"'=:,;@+!|-])(/[\w/.@+%~-]+)`)

// hookUnit is the text of a hook's unit. As in kOps the manifest is the [Service] section, unless
// it is a whole unit (useRawManifest). One that says nothing of what wants it is started at each
// boot, as nodeup starts it. systemd would not keep it enabled, and would forget that it ran.
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
