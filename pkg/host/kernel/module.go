package kernel

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"sync"

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
	states, rest, shown := make(map[string]ModuleState, len(names)), map[string]ModuleState{}, k.shown()
	for _, name := range names {
		if shown != nil && !shown[name] {
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

// findOnDisk finds out of modules that are not loaded whether they are on disk or built in. What it
// was asked before it knows.
func (k *Reader) findOnDisk(states map[string]ModuleState) {
	k.onDisk.mu.Lock()
	defer k.onDisk.mu.Unlock()
	unknown := map[string]ModuleState{}
	for name := range states {
		if state, ok := k.onDisk.states[name]; ok {
			states[name] = state
		} else {
			unknown[name] = ModuleMissing
		}
	}
	if len(unknown) == 0 {
		return
	}
	k.mark(unknown, "modules.dep", ModuleLoadable)
	k.mark(unknown, "modules.builtin", ModuleBuiltin)
	filesystems, _ := sys.ReadKernelFile(k.Proc + "/filesystems")
	if k.onDisk.states == nil {
		k.onDisk.states = map[string]ModuleState{}
	}
	for name, state := range unknown {
		if state != ModuleBuiltin && k.showsModule(name, filesystems) {
			state = ModuleBuiltin
		}
		states[name], k.onDisk.states[name] = state, state
	}
}

// mark gives modules that depmod listed in a file for the running kernel a state.
func (k *Reader) mark(states map[string]ModuleState, file string, as ModuleState) {
	list, err := os.Open(k.Lib + "/" + k.Release + "/" + file)
	if err != nil {
		return // where there is nothing, nothing is known to be loadable
	}
	defer list.Close() // only read from
	eachListed(list, func(name []byte) {
		if _, asked := states[string(name)]; asked {
			states[string(name)] = as
		}
	})
}

// moduleName is the name as the kernel has it: with underscores.
func moduleName(name string) (string, error) {
	if name == "" || strings.ContainsAny(name, "/. \t\n\x00") {
		return "", fmt.Errorf("%q is no name of a kernel module", name)
	}
	return strings.ReplaceAll(name, "-", "_"), nil
}

// shown are the names that the running kernel shows: all that is loaded, and of what is built in
// all that has parameters. nil: it cannot be listed.
func (k *Reader) shown() map[string]bool {
	entries, err := os.ReadDir(k.Sys + "/module")
	list := []byte(nil)
	if errors.Is(err, unix.ENOENT) { // as in some containers
		list, err = sys.ReadKernelFile(k.Proc + "/modules")
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return nil
	}
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[e.Name()] = true
	}
	for line := range bytes.Lines(list) {
		first, _, _ := bytes.Cut(line, []byte(" "))
		names[string(first)] = true
	}
	return names
}

// loaded asks the running kernel, and answers "" when it does not know.
func (k *Reader) loaded(name string) (ModuleState, error) {
	dir := k.Sys + "/module/" + name
	raw, err := sys.ReadKernelFile(dir + "/initstate")
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
	// Without sysfs, as in some containers, /proc/modules is the other list.
	list, err := sys.ReadKernelFile(k.Proc + "/modules")
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return "", fmt.Errorf("list the loaded modules: %w", err)
	}
	for line := range bytes.Lines(list) {
		if first, _, _ := bytes.Cut(line, []byte(" ")); string(first) == name {
			return ModuleLoaded, nil
		}
	}
	return "", nil
}

// onDisk is what is known of modules that are not loaded: loading one is seen in sysfs.
type onDisk struct {
	mu     sync.Mutex
	states map[string]ModuleState
}

// ListedModules are the names of the modules that the lines of modules.builtin
// ("kernel/net/x.ko") or modules.dep ("kernel/net/x.ko.xz: …") are about, as the kernel has them:
// files are named with underscores or with hyphens.
func ListedModules(list []byte) map[string]bool {
	names := make(map[string]bool, bytes.Count(list, []byte("\n"))+1)
	eachListed(bytes.NewReader(list), func(name []byte) { names[string(name)] = true })
	return names
}

// longestLine is more than the dependencies of any module, in bytes.
const longestLine = 1 << 20

// eachListed calls f with the name in each line, which is valid until it returns. The list of a
// distribution's kernel is half a megabyte, and is not held in memory.
func eachListed(list io.Reader, f func(name []byte)) {
	lines := bufio.NewScanner(list)
	lines.Buffer(make([]byte, 32<<10), longestLine)
	for lines.Scan() {
		file, _, _ := bytes.Cut(lines.Bytes(), []byte(":")) // after it is what that module depends on
		name, packed, ok := bytes.Cut(file[bytes.LastIndexByte(file, '/')+1:], []byte(".ko"))
		if !ok || len(packed) > 0 && packed[0] != '.' {
			continue
		}
		if bytes.IndexByte(name, '-') >= 0 {
			name = bytes.ReplaceAll(name, []byte("-"), []byte("_"))
		}
		f(name)
	}
}

// builtinPaths are what a kernel shows that has a module inside, for kernels whose
// modules.builtin is not there (a container, a kernel without modules).
var builtinPaths = map[string]string{
	"br_netfilter": "/sys/net/bridge",
	"nf_conntrack": "/sys/net/netfilter/nf_conntrack_count",
	"ip_vs":        "/sys/net/ipv4/vs",
	"ipv6":         "/sys/net/ipv6",
}

// showsModule says that the kernel acts as one that has the module.
func (k *Reader) showsModule(name string, filesystems []byte) bool {
	if sign := builtinPaths[name]; sign != "" {
		return unix.Access(k.Proc+sign, unix.F_OK) == nil
	}
	for line := range bytes.Lines(filesystems) {
		if f := bytes.Fields(line); len(f) > 0 && string(f[len(f)-1]) == name {
			return true
		}
	}
	return false
}
