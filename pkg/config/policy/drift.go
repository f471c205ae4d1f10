package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/problem"
)

// Drift says what happens to a key that was right under this configuration and that somebody else
// has changed since. It does not apply to changes that the configuration itself makes.
type Drift struct {
	// Default: Sets the mode of kinds without one. repair restores a key. report only shows it in
	// plan, status and metrics, ignore only in a plan. The default is repair.
	Default string `json:"default,omitempty"`
	// Kinds are the modes of kinds of keys, Keys those of single keys
	// ("sysctl:net.ipv4.ip_forward").
	Kinds map[string]string `json:"kinds,omitempty"`
	Keys  map[string]string `json:"keys,omitempty"`

	// Contested: Says when the agent gives a key up for a while because somebody else changes it
	// back again and again.
	Contested Contested `json:"contested,omitzero"`
}

// These are the modes of [Drift].
const (
	Repair = "repair" // the key is restored
	Report = "report" // the key stays changed; the plan, the status and the metrics say so
	Ignore = "ignore" // the key stays changed; only a plan says so
)

// Contested says when a key is given up that somebody else changes again after each repair. A zero
// value means the agent's own default.
type Contested struct {
	// Repairs: Sets the number of repairs after which the agent gives a key up. The default is 5.
	Repairs int `json:"after,omitempty"`
	// Within: Sets the time in which these repairs must fall. The default is 10m.
	Within values.Duration `json:"within,omitempty"`
}

// Mode returns the mode of a key "kind:name", and the path of the field that set it. The path is ""
// if no document set one.
func (d *Drift) Mode(key string) (mode, path string) {
	kind, _, _ := strings.Cut(key, ":")
	for _, at := range []struct{ mode, path string }{
		{d.Keys[key], driftKeysAt + key}, {d.Kinds[kind], "spec.drift." + kind}, {d.Default, "spec.drift.default"},
	} {
		if at.mode != "" {
			return at.mode, at.path
		}
	}
	return Repair, ""
}

// Fields returns the fields of spec.drift. Each mode merges by itself: a node's mode for sysctls
// does not change the cluster's mode for files.
func (d *Drift) Fields(kinds []string) []decode.Field {
	fields := []decode.Field{
		driftMode("default", &d.Default),
		driftKeys(&d.Keys, kinds).
			About("Sets the modes of single keys, as a plan shows them. They win over the modes of kinds"),
		decode.Into("contested", func() []decode.Field {
			return []decode.Field{
				decode.Number("after", &d.Contested.Repairs, 2, 1000),
				decode.Duration("within", (*time.Duration)(&d.Contested.Within), 10*time.Second, 24*time.Hour),
			}
		}),
	}
	for _, kind := range kinds {
		fields = append(fields, modeOf(kind, &d.Kinds, kind).
			About("Sets the mode of keys "+kind+":NAME. Without it, `default` counts"))
	}
	return fields
}

func driftMode(name string, to *string) decode.Field {
	return decode.Choice(name, to, Repair, Report, Ignore)
}

const driftKeysAt = "spec.drift.keys."

// modeOf reads a mode into a map, under key.
func modeOf(name string, to *map[string]string, key string) decode.Field {
	return decode.Field{Name: name, Set: func(v decode.Reading) {
		var mode string
		if written, found := strings.CutPrefix(v.Path, driftKeysAt); found && written != key {
			v.Origins[driftKeysAt+key] = v.Origins[v.Path]
		}
		if driftMode(name, &mode).Set(v); mode != "" {
			if *to == nil {
				*to = map[string]string{}
			}
			(*to)[key] = mode
		}
	}}
}

// driftKeys reads the modes of single keys.
func driftKeys(to *map[string]string, kinds []string) decode.Field {
	return decode.Field{Name: "keys", Set: func(v decode.Reading) {
		var fields []decode.Field
		if v.Describing() {
			fields = append(fields, modeOf("KIND:NAME", to, "").
				About("Sets the mode of one key, such as file:/etc/motd or sysctl:net.ipv4.ip_forward"))
		}
		if v.Kind == document.KindMap {
			for i := range v.Entries {
				if e := &v.Entries[i]; driftKey(v, e, kinds) {
					fields = append(fields, modeOf(e.Key, to, canonicalKey(e.Key)))
				} else {
					fields = append(fields, decode.Unread(e.Key))
				}
			}
		}
		v.Mapping(fields)
	}}
}

// driftKey reports whether the entry names a key that a task may own. Otherwise it reports an
// error.
func driftKey(v decode.Reading, e *document.Entry, kinds []string) bool {
	kind, name, _ := strings.Cut(e.Key, ":")
	diag := document.Diagnostic{ID: problem.FieldUnknown,
		Summary: "the key " + document.Clip(e.Key) + " is none that a task can have",
		Field:   decode.Join(v.Path, document.Clip(e.Key)),
		Expected: "KIND:NAME as `agent --dry-run` shows it, such as sysctl:net.ipv4.ip_forward or file:/etc/hosts; " +
			"KIND is " + decode.OneOf(kinds)}
	switch {
	case !slices.Contains(kinds, kind):
		if near := document.Nearest(kind, kinds); near != "" {
			diag.Hint = "did you mean " + near + ":" + document.Clip(name) + "?"
		}
	case name != "" && decode.Printable(name) && (kind != "file" || strings.HasPrefix(name, "/")) &&
		(kind != "sysctl" || canonicalKey(e.Key) != ""):
		return true
	}
	v.Doc.ErrorAt(e.Pos, diag)
	return false
}

// canonicalKey returns a sysctl's key in the form that tasks use.
func canonicalKey(key string) string {
	name, isSysctl := strings.CutPrefix(key, "sysctl:")
	if !isSysctl {
		return key
	}
	if name, _ = decode.SysctlKey(name); name == "" {
		return ""
	}
	return "sysctl:" + name
}
