package tasks

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/utils"
)

// Program is a plugin that is called when a pod is added, and the spec versions that it is called with: it must know one of them.
type Program struct {
	Name     string   `json:"name"`
	CalledBy string   `json:"calledBy,omitempty"` // the plugin that does; "": the runtime
	Versions []string `json:"versions"`
}

// notPrograms are IPAM types that only mark who gives the addresses: no program has such a name.
// https://github.com/noironetworks/aci-containers/blob/master/cmd/opflex-agent-cni/main.go
// https://github.com/romana/core/blob/master/cni/cni.go
var notPrograms = []string{"opflex-agent-cni-ipam", "romana-ipam"}

// flannelCalls are what plugin flannel calls where its delegate says no other type.
// https://github.com/flannel-io/cni-plugin/blob/main/flannel_linux.go (doCmdAdd)
const (
	flannelCalls = "bridge"
	flannelIPAM  = "host-local"
)

// Programs are the plugins that the conf calls, in the order of calling, with those that these call by themselves; each once.
func (c CNIConf) Programs() []Program {
	var out []Program
	for _, p := range c.programs() {
		leadsOut := strings.ContainsRune(p.Name, '/') // what libcni refuses is no program
		if !leadsOut && !slices.ContainsFunc(out, func(o Program) bool { return o.Name == p.Name && slices.Equal(o.Versions, p.Versions) }) {
			out = append(out, p)
		}
	}
	return out
}

func (c CNIConf) programs() []Program {
	out := c.called()
	for _, p := range c.Plugins {
		if p.Type == "multus" {
			out = append(out, delegated(p)...)
		}
	}
	return out
}

// called are the programs of a conf that has no others inside.
func (c CNIConf) called() []Program {
	out := c.named()
	for _, p := range c.Plugins {
		if p.Type == "flannel" {
			out = append(out, c.flannels(p)...)
		}
	}
	return out
}

// named are the programs that a conf itself names.
func (c CNIConf) named() []Program {
	var out []Program
	for _, p := range c.Plugins {
		out = c.call(out, p.Type, "")
		out = c.call(out, p.IPAM.Type, p.Type)
	}
	return out
}

// refused says why libcni adds no pod by a conf that it could load. It looks at names when a pod comes, not before.
// https://github.com/containernetworking/cni/blob/v1.3.0/libcni/api.go (addNetwork)
func (c CNIConf) refused() error {
	if len(c.Plugins) == 0 {
		return nil // no conf, or one that is about to be written
	}
	if c.Name == "" {
		return errors.New("it has no `name`, and libcni refuses that: give it one")
	}
	if utils.ValidateNetworkName(c.Name) != nil {
		return fmt.Errorf("libcni refuses its `name` %q: expected a letter or a digit, then letters, digits, '.', '_' and '-'", c.Name)
	}
	for _, p := range c.programs() {
		if strings.ContainsRune(p.Name, '/') {
			return fmt.Errorf("libcni refuses the plugin `type` %q: expected the name of a program without a path", p.Name)
		}
	}
	return nil
}

// call adds a program, if it is one.
func (c CNIConf) call(to []Program, name, by string) []Program {
	versions := c.CNIVersions
	if len(versions) == 0 {
		versions = []string{cmp.Or(c.CNIVersion, "0.1.0")} // https://github.com/containernetworking/cni/blob/v1.3.0/pkg/version/conf.go
	}
	if name == "" || slices.Contains(notPrograms, name) {
		return to
	}
	return append(to, Program{Name: name, CalledBy: by, Versions: versions})
}

func (c CNIConf) flannels(p CNIPlugin) []Program {
	var delegate CNIPlugin
	_ = json.Unmarshal(p.Delegate, &delegate) // none, or one that flannel itself refuses: then its defaults
	calls := cmp.Or(delegate.Type, flannelCalls)
	return c.call(c.call(nil, calls, p.Type), cmp.Or(delegate.IPAM.Type, flannelIPAM), calls)
}

// delegated are the programs of the confs that Multus has inside its own.
func delegated(p CNIPlugin) []Program {
	var confs []json.RawMessage
	if json.Unmarshal(p.Delegates, &confs) != nil {
		return nil // none: it finds the next conf by itself
	}
	var out []Program
	for _, raw := range confs {
		var shape struct{ Plugins []json.RawMessage }
		_ = json.Unmarshal(raw, &shape) // what is no conf at all is refused below
		inner, err := parseConf(raw, len(shape.Plugins) > 0)
		if err != nil {
			continue // Multus itself says so at the first pod
		}
		for _, program := range inner.called() {
			program.CalledBy = cmp.Or(program.CalledBy, p.Type)
			out = append(out, program)
		}
	}
	return out
}
