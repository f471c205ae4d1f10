package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/problem"
)

// LoadModule loads a module and checks the result. Where systemd runs, it starts
// modprobe@NAME.service, so that the agent needs no CAP_SYS_MODULE. Elsewhere it runs modprobe. A
// loaded or built-in module is success. It may be retried.
func (w *Writer) LoadModule(ctx context.Context, name string) error {
	name, err := moduleName(name)
	if err != nil {
		return err
	}
	if err := w.loadModule(ctx, name); err != nil {
		return fmt.Errorf("load module %s: %w", name, err)
	}
	return nil
}

func (w *Writer) loadModule(ctx context.Context, name string) error {
	state, err := w.kernel.Module(name)
	switch {
	case err != nil || state == ModuleLoaded || state == ModuleBuiltin:
		return err
	case !w.opt.Modules:
		return errors.New("modules belong to the host of this container or sandbox: load it there")
	case state == ModuleMissing:
		return w.missingModule()
	}
	by, err := w.modprobe(ctx, name)
	if err != nil {
		return err
	}
	// modprobe@.service ignores the result of modprobe, so the kernel is asked.
	switch state, err = w.kernel.Module(name); {
	case err != nil:
		return err
	case state != ModuleLoaded && state != ModuleBuiltin:
		return fmt.Errorf("%s ran and it is still not loaded: look for a blacklist in "+
			"/etc/modprobe.d, for kernel lockdown and for kernel.modules_disabled; `modprobe %s` says why", by, name)
	}
	sys.Changed(w.opt.Log, "module loaded", zap.String("module", name), zap.String("by", by))
	return nil
}

// modprobe runs modprobe through systemd or directly. It returns the unit or program that it used.
func (w *Writer) modprobe(ctx context.Context, name string) (by string, err error) {
	unit := "modprobe@" + name + ".service"
	err = w.opt.StartUnit(ctx, unit)
	switch {
	case err == nil:
		return unit, nil
	// Systemd before 245 has no such unit.
	case !errors.Is(err, sys.ErrNoLiveState) && !errors.Is(err, fs.ErrNotExist):
		return unit, err
	}
	// -b makes modprobe respect blacklists.
	_, err = sys.Run(ctx, sys.Command{Path: "modprobe", Args: []string{"-b", "--", name}})
	return "modprobe", err
}

// missingModule says why a module cannot be loaded and how to get it.
func (w *Writer) missingModule() error {
	k := w.kernel
	if _, err := os.Stat(k.Proc + "/modules"); errors.Is(err, os.ErrNotExist) {
		return problem.Missing("kernel %s cannot load modules and was built without it: boot a kernel that has it",
			k.Release)
	}
	if _, err := os.Stat(k.Lib + "/" + k.Release); errors.Is(err, os.ErrNotExist) {
		return problem.Missing("the modules of the running kernel %s are not in %s: reboot into the installed kernel, or "+
			"%s",
			k.Release, k.Lib, w.opt.ModuleSource)
	}
	return problem.Missing("kernel %s has no such module: %s", k.Release, w.opt.ModuleSource)
}
