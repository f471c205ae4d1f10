package extras

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/kops"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/secret"
)

// Hooks reads spec.hooks.
func Hooks(to *[]Hook, meant Meant) decode.Field {
	return decode.Field{Name: "hooks", Set: func(v decode.Reading) {
		seen := make(decode.Keys)
		number := 0
		put := decode.Merging(to, func(h Hook) string { return h.Name })
		v.List(func(item decode.Reading) {
			h, ok := hookOf(item, &number, meant)
			if !ok || !item.At(item.Value, item.Path+".name").First(seen, h.Name) {
				return
			}
			item.Origins[fmt.Sprintf("%s[%s]", v.Path, h.Name)] = h.Origin
			put(h)
		})
	}}
}

// hookOf reads one entry. It returns false if the entry is wrong or for other nodes. number counts
// the hooks for this node, as kOps does.
func hookOf(v decode.Reading, number *int, meant Meant) (Hook, bool) {
	h := Hook{Enabled: true, Origin: v.Origin()}
	var roles []string
	manifest, container := "", false
	v.Mapping([]decode.Field{
		decode.Text("name", &h.Name, decode.ValidUnit),
		decode.Bool("enabled", &h.Enabled),
		decode.Text("manifest", &manifest, nil),
		decode.Bool("useRawManifest", &h.UseRawManifest),
		decode.Texts("before", &h.Before, decode.ValidUnit),
		decode.Texts("requires", &h.Requires, decode.ValidUnit),
		decode.Each("roles", &roles, kops.Role).About(aboutRoles),
		decode.Field{Name: "execContainer", Set: func(decode.Reading) { container = true }}.
			Unlisted(),
		dialectsOwn(v.Doc.Dialect, &h),
	})
	mine := meant(roles, nil)
	if v.Doc.Dialect.Lenient && mine {
		h.Name = cmp.Or(h.Name, kops.HookName(*number, v.Doc.Kind == decode.KindNodeGroup))
		*number++
	}
	if container {
		diag := document.Diagnostic{ID: problem.FieldUnknown, Summary: "hooks that run a container are not supported",
			Field: v.Path + ".execContainer", Hint: "run it from a manifest"}
		if v.Doc.Dialect.Lenient {
			v.Warn(diag)
		} else {
			v.Error(diag)
		}
		return h, false
	}
	h.Manifest = secret.New(manifest)
	if v.Doc.Dialect.Lenient {
		if h.Enabled && v.Kind == document.KindMap && v.Get("manifest") == nil {
			v.Warn(document.Diagnostic{Summary: v.Path + " has no manifest and does nothing, in kOps as here",
				Hint: "give it one, or take it out"})
			return h, false
		}
		if h.Name == "" {
			return h, false // it gets its name on the nodes that it is for
		}
	}
	empty := v.Get("manifest") == nil
	if empty && !h.Enabled {
		v.Newer(v.Pos, v.Path, "a hook that is off and has no manifest")
	}
	if h.Name == "" && !v.Required("name") {
		return h, false
	}
	if empty && h.Enabled {
		v.Error(document.Diagnostic{ID: problem.FieldMissing, Summary: v.Path + ".manifest is missing",
			Field:    v.Path + ".manifest",
			Expected: `what stands below [Service], such as manifest: "ExecStart=/usr/local/bin/x"`,
			Hint:     `for a unit that is on the node already: manifest: ""; to have it off: enabled: false`})
		return h, false
	}
	if suffix := path.Ext(h.Name); suffix == "" || !slices.Contains(strings.Fields(unitSuffixes), suffix) {
		h.Name += ".service"
	}
	hookText(v, &h)
	if why := reservedUnit(h.Name); why != "" {
		h.Refused = refuse(v.Field("name"), h.Name+" is "+why,
			"the name of a unit of your own, or of another program's",
			"take it out of the documents, or give the unit another name")
	} else if why := reservedText(manifest); why != "" {
		said := v.Field("name")
		if said.Value == nil { // a hook of kOps need not have a name
			said = v.Field("manifest")
		}
		h.Refused = refuse(said, "its manifest says "+why, "a unit that leaves that one alone", "take the line out")
	}
	return h, mine
}

// dialectsOwn returns the field that only kOps' documents have, or only the agent's own.
func dialectsOwn(of *decode.Dialect, h *Hook) decode.Field {
	if !of.Lenient {
		return decode.Duration("timeout", (*time.Duration)(&h.Timeout), minHookTimeout, maxHookTimeout).Newer()
	}
	return decode.Field{Name: "disabled", Set: func(v decode.Reading) {
		disabled := !h.Enabled
		decode.Bool("disabled", &disabled).Set(v)
		h.Enabled = !disabled
	}}.Unlisted() // kOps' older spelling
}

// These are the bounds of the time that a hook may take to start.
const (
	minHookTimeout = time.Second
	maxHookTimeout = time.Hour
)

// hookText checks a manifest where documents are checked. It refuses one that systemd cannot read
// or would not start, and warns about a secret in it, because everybody on the node can read it.
func hookText(v decode.Reading, h *Hook) {
	text := v.Get("manifest")
	if !v.Checks || !h.Enabled || text == nil || text.Str() == "" || path.Ext(h.Name) != ".service" {
		return
	}
	diag := document.Diagnostic{ID: problem.FieldValue, Field: v.Path + ".manifest",
		Expected: "what stands below [Service], such as ExecStart=/usr/local/bin/x"}
	unit := "[Service]\n" + text.Text
	if h.UseRawManifest {
		unit, diag.Expected = text.Text, "a whole unit: [Unit], [Service] and [Install] with their settings"
	}
	parsed := systemd.ParseUnitFile([]byte(unit))
	starts := slices.Concat(parsed.Values("Service", "ExecStart"), parsed.Values("Service", "ExecStop"),
		parsed.Values("Service", "SuccessAction"))
	switch line := noSetting(unit); {
	case line > 0:
		diag.Summary = fmt.Sprintf("the manifest of %s is no unit: its line %d is neither a section nor a setting",
			h.Name, line-strings.Count(unit, "\n")+strings.Count(text.Text, "\n"))
		v.Doc.ErrorAt(text.Pos, diag)
	case len(starts) == 0:
		diag.Summary = fmt.Sprintf("the manifest of %s starts nothing: systemd refuses a service without ExecStart=",
			h.Name)
		v.Doc.ErrorAt(text.Pos, diag)
	}
	for _, set := range parsed.Values("Service", "Environment") {
		name, _, _ := strings.Cut(strings.Trim(set, `"'`), "=")
		if upper := strings.ToUpper(name); document.IsSecretKey(name) || strings.Contains(upper, "TOKEN") ||
			strings.Contains(upper, "PASSWORD") || strings.Contains(upper, "SECRET") {
			v.Doc.WarnAt(text.Pos, document.Diagnostic{ID: problem.KeypairExposed, Field: v.Path + ".manifest",
				Summary: fmt.Sprintf("everybody on the node can read Environment=%s of %s: a unit's file is open to "+
					"all", document.Clip(name), h.Name),
				Hint: "put it into a file asset with mode \"0600\", and say EnvironmentFile="})
		}
	}
}

// noSetting returns the number of the first line of a unit that is neither a section, a comment nor
// a setting in a section, or 0 if there is none.
func noSetting(unit string) int {
	n, section, goesOn := 0, false, false
	for line := range strings.SplitSeq(unit, "\n") {
		n++
		plain := strings.TrimSpace(line)
		was := goesOn
		goesOn = strings.HasSuffix(plain, `\`) && !strings.HasPrefix(plain, "#")
		key, _, set := strings.Cut(plain, "=")
		switch {
		case was, plain == "", plain[0] == '#', plain[0] == ';':
		case plain[0] == '[' && strings.HasSuffix(plain, "]"):
			section = true
		case !set || !section || key == "" || strings.ContainsAny(strings.TrimSpace(key), " \t"):
			return n
		}
	}
	return 0
}

// Hook is a systemd unit that the user wants on the node (kOps' hooks).
type Hook struct {
	// Name: Sets the name of the unit. The agent adds .service if the name has no suffix.
	Name string `json:"name"`
	// Enabled: false stops and disables the unit. The default is true.
	Enabled bool `json:"enabled"`
	// Manifest: Sets the lines of section [Service], or with `useRawManifest` the whole unit. ""
	// means that the unit exists already. A disabled unit needs none. The agent never prints it.
	Manifest secret.Text `json:"-"`
	// UseRawManifest: true means that `manifest` is the whole unit file. If it has no section
	// [Install], the agent adds WantedBy=multi-user.target.
	UseRawManifest bool `json:"useRawManifest,omitempty"`
	// Before: Lists units that start after this unit (Before=).
	Before []string `json:"before,omitempty"`
	// Requires: Lists units that this unit needs (Requires=).
	Requires []string `json:"requires,omitempty"`
	// Timeout: Sets how long the start of the unit may take. A unit that has not started by then is
	// stopped and has failed. The default is 2m.
	Timeout values.Duration `json:"timeout,omitempty"`
	Refused string          `json:"refused,omitempty"` // why it fails here; the documents should not say it
	Origin  document.Origin `json:"origin"`
}
