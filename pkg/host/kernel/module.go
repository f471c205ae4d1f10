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

// ModuleState is where a kernel module stands.
type ModuleState string

// The states of a module.
const (
	ModuleLoaded   ModuleState = "loaded"
	ModuleBuiltin  ModuleState = "built in"
	ModuleLoadable ModuleState = "loadable" // on disk for this kernel, not loaded
	ModuleMissing  ModuleState = "absent"
)

// Module implements host.Kernel. The order of looking is by cost: sysfs tells of
// most that is loaded in one system call.
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

// Modules says of many at once where they stand, by names as the kernel has them, and nothing of
// those of which that cannot be read. Facts ask at each look for thirty of the thousands that a
// distribution lists: the lists are searched once.
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

// moduleName is the name as the kernel has it: with underscores.
func moduleName(name string) (string, error) {
	if name == "" || strings.ContainsAny(name, "/. \t\n\x00") {
		return "", fmt.Errorf("%q is no name of a kernel module", name)
	}
	return strings.ReplaceAll(name, "-", "_"), nil
}

// shown are the names that the running kernel shows: all that is loaded, and of what is built in
// all that has parameters.
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

// loaded asks the running kernel, and answers "" when it does not know.
func (k *Reader) loaded(name string) (ModuleState, error) {
	dir := k.Sys + "/module/" + name
	raw, err := sys.ReadKernelValue(dir + "/initstate")
	switch {
	case err == nil && sys.FoldSpace(string(raw)) == "live":
		return ModuleLoaded, nil
	case err == nil: // coming or going: not loaded yet, or not any more
		return ModuleLoadable, nil
	case !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR):
		return "", fmt.Errorf("read the state of module %s: %w", name, err)
	}
	if unix.Access(dir, unix.F_OK) == nil {
		return ModuleBuiltin, nil // a built-in module with parameters has a directory, but no state
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
