package kernel

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/problem"
)

// SetSysctl writes a key of the running kernel and reads it back. If the kernel then has another
// value, this is an error (it rounds and clamps some keys). Where [Options.HostSysctls] is false, a
// key of scope host is refused. It may be retried.
func (w *Writer) SetSysctl(ctx context.Context, key, value string) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("set sysctl %s: %w", key, err)
	}
	if !w.kernel.Live {
		return fmt.Errorf("set sysctl %s: %w", key, sys.ErrNoLiveState)
	}
	canonical, err := CanonicalSysctl(key)
	if err != nil {
		return err
	}
	if ScopeOf(canonical) == ScopeHost && !w.opt.HostSysctls {
		return fmt.Errorf("set sysctl %s: it belongs to the whole machine and is not set from a container "+
			"or a sandbox: set it on the host", key)
	}
	if err := sys.WriteKernelFile(w.kernel.sysctlFile(canonical), value); err != nil {
		return fmt.Errorf("set sysctl %s to %q: %w", key, value, explainSysctl(canonical, err))
	}
	got, err := w.kernel.Sysctl(canonical)
	if err != nil {
		return fmt.Errorf("read sysctl %s back: %w", key, err)
	}
	if !SameSysctl(canonical, got, value) {
		return fmt.Errorf("set sysctl %s to %q: the kernel accepted it and now has %q: the kernel rounds or "+
			"clamps this key: set a value that it can hold", key, value, got)
	}
	sys.Changed(w.opt.Log, "sysctl set", zap.String("key", key), zap.String("value", got))
	return nil
}

// explainSysctl says what an errno of the kernel means, and what to do.
func explainSysctl(key string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		hint = "this kernel has no such key: remove it from the configuration"
		if m := SysctlModule(key); m != "" {
			hint = "there is no such key before module " + m + " is loaded: load it, or build a kernel with it"
		} else if link := SysctlLink(key); link != "" {
			hint = "there is no such key before link " + link + " exists"
		}
		err = problem.Missing("%w", err)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ERANGE),
		errors.Is(err, unix.EOVERFLOW), errors.Is(err, unix.EIO): // unknown CPU; no address
		hint = "the kernel refuses this value: " + takes(key) + "; or set the key on the host if this is " +
			"a network namespace that may not change it"
	case errors.Is(err, unix.EPERM) && ScopeOf(key) == ScopeHost:
		// The keys are kptr_restrict, dmesg_restrict and a few more. For all others, root is
		// enough.
		hint = "the kernel wants CAP_SYS_ADMIN for this key, which netwright-agent.service goes without: " +
			"give it with `systemctl edit netwright-agent` ([Service] CapabilityBoundingSet=CAP_SYS_ADMIN)"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		hint = "not permitted: run as root with CAP_NET_ADMIN; in a container set it on the host"
	case errors.Is(err, unix.EROFS):
		hint = "/proc/sys is read-only here: set it on the host, or give the container a writable /proc/sys"
	default:
		return err
	}
	return fmt.Errorf("%s: %w", hint, err)
}
