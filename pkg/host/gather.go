package host

import (
	"context"
	"runtime"
)

// gatherFacts looks once at what is true for a whole pass. It starts no
// program on a host whose binaries are those of the last pass, and writes nothing.
func gatherFacts(_ context.Context, l *Live) (*Facts, error) {
	facts := &Facts{Arch: runtime.GOARCH}
	facts.Contain = container(l.kernel, l.opt.Sandbox)
	facts.Kernel = kernelFacts(l.kernel, facts.Contain)
	facts.Cgroup = cgroupVersion(l.kernel)
	if l.units.here {
		facts.Init = "systemd"
	}
	return facts, nil
}
