package verify

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/pkg/verify/testpod"
)

// plugins checks each program that runs when a pod is added.
func (c *checker) plugins(ctx context.Context) {
	if c.want.Conf == nil {
		return
	}
	seen := map[string]bool{}
	for _, p := range programsOf(c) {
		if key := p.Name + " " + p.Version; !seen[key] {
			seen[key] = true
			c.note("plugin "+p.Name, c.plugin(ctx, p))
		}
	}
}

// programsOf returns the programs that run when a pod is added.
func programsOf(c *checker) (programs []tasks.Program) {
	for _, conf := range c.confs {
		programs = append(programs, conf.Programs()...)
	}
	if rt := c.view.Facts.Runtime; rt.Name == "containerd" && !rt.InternalLoopback && len(programs) > 0 {
		// containerd calls loopback with a built-in conf of spec 0.3.1:
		// https://github.com/containerd/containerd/blob/v2.1.4/internal/cri/server/service_linux.go
		programs = append(programs, tasks.Program{Name: "loopback", CalledBy: "containerd", Version: "0.3.1"})
	}
	return programs
}

// versionLimit is the time limit for one plugin's answer. The command VERSION uses no network: it
// takes milliseconds, or never ends.
const versionLimit = 5 * time.Second

func (c *checker) plugin(ctx context.Context, p tasks.Program) Result {
	by := ""
	if p.CalledBy != "" {
		by = ", which " + p.CalledBy + " calls,"
	}
	dirs := c.want.Conf.BinDirs
	file, info := tasks.FindPlugin(c.view, dirs, p.Name)
	switch {
	case file == "":
		return failed(fmt.Sprintf("%s%s is not in %s: no pod can be added", p.Name, by,
			strings.Join(dirs, ", ")), c.want.installs(p.Name))
	case info.Type != hostfs.Regular:
		return failed(fmt.Sprintf("%s%s is a %s, no program", file, by, info.Type.Noun()),
			"remove it; then "+c.want.installs(p.Name))
	case info.Mode&0o111 == 0:
		return failed(fmt.Sprintf("%s%s is not executable (mode %04o)", file, by, info.Mode),
			fmt.Sprintf("`chmod 0755 %s`", file))
	case c.view.Files.Runnable(file) != nil:
		return failed(c.view.Files.Runnable(file).Error(),
			fmt.Sprintf("`findmnt -T %s` names the file system: mount it without noexec", path.Dir(file)))
	case c.run == nil:
		return well(file + " is there; not started here")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, versionLimit, fmt.Errorf("no answer within %s", versionLimit))
	defer cancel()
	answer, err := invoke.GetVersionInfo(ctx, file, testpod.Exec{Host: c.run})
	if err != nil {
		return failed(fmt.Sprintf("%s does not answer VERSION: %s", file, err),
			"it is damaged, no CNI plugin, or built for another architecture: "+c.want.installs(p.Name))
	}
	return c.judge(file, p, answer.SupportedVersions())
}

// judge compares the spec versions that a plugin supports with the one that it is called with, and
// with the minimum.
func (c *checker) judge(file string, p tasks.Program, supports []string) Result {
	says := fmt.Sprintf("%s supports spec %s", file, strings.Join(supports, ", "))
	if !slices.Contains(supports, p.Version) {
		return failed(fmt.Sprintf("%s, and is called with %s", says, p.Version),
			"install a newer release of the plugin ("+c.want.installs(p.Name)+"), or set a lower version in the conf")
	}
	if least := c.want.Minimums[p.Name]; least != "" &&
		!slices.ContainsFunc(supports,
			func(v string) bool { ok, err := version.GreaterThanOrEqualTo(v, least); return err == nil && ok }) {
		return failed(fmt.Sprintf("%s, and %s needs at least %s", says, c.want.Network.Name, least),
			"it is too old: "+c.want.installs(p.Name))
	}
	return well(fmt.Sprintf("%s, called with %s", says, p.Version))
}

// installs returns who installs a plugin.
func (e *Expect) installs(name string) string {
	for _, p := range e.Network.Plugins {
		if slices.Contains(p.Members, name) {
			return "run `agent --once`: it installs " + p.Asset
		}
	}
	if name == "loopback" {
		return "install the reference plugins, or let the network's DaemonSet copy it"
	}
	return e.ifMissing()
}
