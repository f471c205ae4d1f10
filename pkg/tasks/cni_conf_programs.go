package tasks

import (
	"cmp"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Program is a plugin that runs when a pod is added, and the version of the spec with which it is
// called.
type Program struct {
	Name     string
	CalledBy string // the plugin that calls it; "": the runtime
	Version  string
}

// notPrograms are IPAM types that only name who gives the addresses. There is no program with such
// a name.
// https://github.com/noironetworks/aci-containers/blob/master/cmd/opflex-agent-cni/main.go
// https://github.com/romana/core/blob/master/cni/cni.go
var notPrograms = []string{"opflex-agent-cni-ipam", "romana-ipam"}

// flannelCalls and flannelIPAM are the plugins that the plugin flannel calls by default.
// https://github.com/flannel-io/cni-plugin/blob/main/flannel_linux.go (doCmdAdd)
const (
	flannelCalls = "bridge"
	flannelIPAM  = "host-local"
)

// Programs returns the plugins that the conf calls, in order, with the plugins that these call
// themselves; each one once.
func (c CNIConf) Programs() []Program {
	var out []Program
	for _, p := range c.programs() {
		leadsOut := strings.ContainsRune(p.Name, '/') // libcni refuses a type with a path
		if !leadsOut &&
			!slices.ContainsFunc(out, func(o Program) bool { return o.Name == p.Name && o.Version == p.Version }) {
			out = append(out, p)
		}
	}
	return out
}

// FindPlugin returns the file of a plugin as libcni finds it: the first regular file with the name.
// Where there is none, it returns the first other file with the name; "": there is none.
// https://github.com/containernetworking/cni/blob/v1.3.0/pkg/invoke/find.go
func FindPlugin(v host.View, dirs []string, name string) (file string, info hostfs.FileInfo) {
	for _, dir := range dirs {
		at := path.Join(dir, name)
		is, err := v.Files.Lstat(at)
		if err == nil && is.Type == hostfs.Symlink { // calico-ipam is a link to calico
			if is, err = target(v, at); errors.Is(err, host.ErrNotExist) {
				continue
			}
		}
		switch {
		case err != nil:
		case is.Type == hostfs.Regular:
			return at, is
		case file == "":
			file, info = at, is
		}
	}
	return file, info
}

// target returns what a symlink points to.
func target(v host.View, link string) (hostfs.FileInfo, error) {
	to, err := v.Files.Readlink(link)
	if err != nil {
		return hostfs.FileInfo{}, err
	}
	if !path.IsAbs(to) {
		to = path.Join(path.Dir(link), to)
	}
	return v.Files.Lstat(to)
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

// called returns the programs of a conf, without those of confs inside it.
func (c CNIConf) called() []Program {
	out := c.named()
	for _, p := range c.Plugins {
		if p.Type == "flannel" {
			out = append(out, c.flannels(p)...)
		}
	}
	return out
}

// named returns the programs that a conf itself names.
func (c CNIConf) named() []Program {
	var out []Program
	for _, p := range c.Plugins {
		out = c.call(out, p.Type, "")
		out = c.call(out, p.addresses(), p.Type)
	}
	return out
}

// call adds a program, unless name is none.
func (c CNIConf) call(to []Program, name, by string) []Program {
	if name == "" || slices.Contains(notPrograms, name) {
		return to
	}
	return append(to, Program{Name: name, CalledBy: by, Version: c.version()})
}

func (c CNIConf) flannels(p CNIPlugin) []Program {
	var delegate CNIPlugin
	_ = json.Unmarshal(p.Delegate, &delegate) // without a delegate, or with an invalid one, flannel uses its defaults
	calls := cmp.Or(delegate.Type, flannelCalls)
	return c.call(c.call(nil, calls, p.Type), cmp.Or(delegate.addresses(), flannelIPAM), calls)
}

// delegated returns the programs of the confs inside a Multus conf.
func delegated(p CNIPlugin) []Program {
	var confs []json.RawMessage
	if json.Unmarshal(p.Delegates, &confs) != nil {
		return nil // none: Multus itself finds the next conf
	}
	var out []Program
	for _, raw := range confs {
		var shape struct{ Plugins []json.RawMessage }
		_ = json.Unmarshal(raw, &shape) // parseConf below reports an invalid conf
		list, err := parseConf(raw, len(shape.Plugins) > 0)
		if err != nil {
			continue // Multus reports it at the first pod
		}
		inner, err := confOf(list)
		if err != nil {
			continue
		}
		for _, program := range inner.called() {
			program.CalledBy = cmp.Or(program.CalledBy, p.Type)
			out = append(out, program)
		}
	}
	return out
}
