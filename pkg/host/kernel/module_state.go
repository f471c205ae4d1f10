package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// ModuleState is the state of a kernel module.
type ModuleState string

// The states of a module.
const (
	ModuleLoaded   ModuleState = "loaded"
	ModuleBuiltin  ModuleState = "built in"
	ModuleLoadable ModuleState = "loadable" // on disk for this kernel, not loaded
	ModuleMissing  ModuleState = "absent"
)

// Module implements host.Kernel. It looks at sysfs first, which is cheapest: for most loaded
// modules this is one system call.
func (k *Reader) Module(name string) (ModuleState, error) {
	if !k.Live {
		return "", fmt.Errorf("look for module %s: %w", name, sys.ErrNoLiveState)
	}
	name, err := moduleName(name)
	if err != nil {
		return "", err
	}
	state, err := k.loaded(name)
	if state != "" || err != nil {
		return state, err
	}
	rest := map[string]ModuleState{name: ModuleMissing}
	k.findOnDisk(rest)
	return rest[name], nil
}

// Modules returns the states of many modules (names with underscores). It leaves out a module whose
// state cannot be read. It searches the lists once for all modules: each look gathers thirty of the
// thousands that a distribution lists.
func (k *Reader) Modules(names []string) map[string]ModuleState {
	states, rest := make(map[string]ModuleState, len(names)), map[string]ModuleState{}
	shown, unknown := k.shown()
	for _, name := range names {
		if unknown == nil && !shown[name] {
			rest[name] = ModuleMissing
		} else if state, err := k.loaded(name); state != "" {
			states[name] = state
		} else if err == nil {
			rest[name] = ModuleMissing
		}
	}
	k.findOnDisk(rest)
	maps.Copy(states, rest)
	return states
}

// moduleName returns a module's name as the kernel spells it: with underscores.
func moduleName(name string) (string, error) {
	if name == "" || strings.ContainsAny(name, "/. \t\n\x00") {
		return "", fmt.Errorf("%q is no name of a kernel module", name)
	}
	return strings.ReplaceAll(name, "-", "_"), nil
}

// shown lists the modules that the running kernel shows: all loaded ones, and the built-in ones
// that have parameters.
func (k *Reader) shown() (map[string]bool, error) {
	entries, err := os.ReadDir(k.Sys + "/module")
	list := []byte(nil)
	if errors.Is(err, unix.ENOENT) { // as in some containers
		list, err = sys.ReadKernelFile(k.Proc + "/modules")
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return nil, fmt.Errorf("list the loaded modules: %w", err)
	}
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[e.Name()] = true
	}
	for line := range bytes.Lines(list) {
		first, _, _ := bytes.Cut(line, []byte(" "))
		names[string(first)] = true
	}
	return names, nil
}

// loaded returns the state of a module in the running kernel, or "" if the kernel does not show the
// module.
func (k *Reader) loaded(name string) (ModuleState, error) {
	dir := k.Sys + "/module/" + name
	raw, err := sys.ReadKernelValue(dir + "/initstate")
	switch {
	case err == nil && sys.FoldSpace(string(raw)) == "live":
		return ModuleLoaded, nil
	case err == nil: // it is being loaded or unloaded
		return ModuleLoadable, nil
	case !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR):
		return "", fmt.Errorf("read the state of module %s: %w", name, err)
	}
	if unix.Access(dir, unix.F_OK) == nil {
		return ModuleBuiltin, nil // a built-in module with parameters has no state file
	}
	if unix.Access(k.Sys+"/module", unix.F_OK) == nil {
		return "", nil
	}
	shown, err := k.shown()
	if err != nil || !shown[name] {
		return "", err
	}
	return ModuleLoaded, nil
}
