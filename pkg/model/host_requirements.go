package model

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/model/network"
)

// requires refuses a host that cannot run the network, before anything is changed. Facts that are
// unknown (of an image, of modules inside a container, of an unrecognized cloud) are no reason to
// refuse.
func (b *builder) requires() error {
	var errs []error
	for _, r := range append([]network.Requires{b.net.Requires}, b.net.Requires.Variants...) {
		if !r.Applies(b.view) {
			continue
		}
		errs = append(errs, b.kernelOldEnough(r), b.rightCloud(r), b.hasHugepages(r))
	}
	return errors.Join(append(errs, b.hasModules())...)
}

// refuse returns the error that this host cannot run the network.
func (b *builder) refuse(format string, args ...any) error {
	return fmt.Errorf("use %s (%s): %w", b.net.Name, b.view.NetworkOrigin(), fmt.Errorf(format, args...))
}

func (b *builder) kernelOldEnough(r network.Requires) error {
	release := b.in.Facts.Kernel.Release
	have, known := linuxVersion(release)
	if !known || !have.Before(r.Kernel) {
		return nil
	}
	if slices.ContainsFunc(r.Backports,
		func(pattern string) bool { ok, _ := path.Match(pattern, release); return ok }) {
		return nil
	}
	return b.refuse("%s needs %s, and this node runs %s: boot a newer kernel, or choose another network, or a version "+
		"or variant of it that asks for less",
		variant(r), r.DescribeKernel(), release)
}

func (b *builder) rightCloud(r network.Requires) error {
	if len(r.Clouds) == 0 {
		return nil
	}
	works := fmt.Sprintf("%s works on %s only", variant(r), strings.Join(r.Clouds, " or "))
	if r.Why != "" {
		works += " (" + r.Why + ")"
	}
	if said := b.in.Node.CloudProvider; said != "" && !slices.Contains(r.Clouds, said) {
		return b.refuse("%s, and the cloud is %s (%s): choose %s", works, said, b.view.Origin("spec.cloudProvider"),
			b.otherwise())
	}
	if seen := b.in.Facts.Cloud; seen != "" && !slices.Contains(r.Clouds, seen) {
		return b.refuse("%s, and by its firmware this machine runs in %s: choose %s", works, seen, b.otherwise())
	}
	return nil
}

func (b *builder) hasHugepages(r network.Requires) error {
	pages := b.in.Facts.Kernel.Hugepages
	if r.Hugepages == "" || pages == nil {
		return nil
	}
	free, has := pages[r.Hugepages]
	switch {
	case !has:
		return b.refuse("%s needs huge pages of %s, and the kernel of this node has none of that size (%s): boot one "+
			"that has, or another machine",
			variant(r), r.Hugepages, b.in.Facts.Kernel.Release)
	case free == 0 && !b.setsHugepages(r.Hugepages):
		remedy := ""
		if r.Hugepages == defaultHugepage {
			remedy = ", or set vm.nr_hugepages under spec.sysctlParameters"
		}
		return b.refuse("%s needs huge pages of %s, and none are set aside on this node: boot it with hugepagesz=%s "+
			"hugepages=N on the kernel's command line%s",
			variant(r), r.Hugepages, r.Hugepages, remedy)
	}
	return nil
}

// defaultHugepage is the page size that vm.nr_hugepages counts, on amd64 and on arm64 with pages
// of 4 KiB.
const defaultHugepage = "2M"

// setsHugepages reports whether the tasks themselves will reserve huge pages of a size.
func (b *builder) setsHugepages(size string) bool {
	keys, err := b.decide()
	return err == nil && size == defaultHugepage &&
		slices.ContainsFunc(keys, func(k sysctl) bool { return k.Key == "vm.nr_hugepages" && k.Value != "0" })
}

// hasModules refuses a kernel that has a needed module neither built in nor as a file. It refuses
// nothing where another system manages the modules, or for an image, because the answer is unknown
// there.
func (b *builder) hasModules() error {
	k := b.in.Facts.Kernel
	if !k.Modules || k.Release == "" {
		return nil
	}
	var errs []error
	for _, m := range b.net.Modules {
		if m.Optional || !m.Applies(b.view) || k.ModuleStates[moduleFact(m.Name)] != kernel.ModuleMissing {
			continue
		}
		errs = append(errs, b.refuse("it needs kernel module %s (%s), and kernel %s of this node has no such module, "+
			"neither built in nor as a file: %s; after an update of the kernel, reboot into it",
			m.Name, m.Why, k.Release, facts.ModuleSource(b.in.Facts.OS, k.Release)))
	}
	return errors.Join(errs...)
}

// moduleFact returns a module's name as the facts have it: with underscores.
func moduleFact(name string) string { return strings.ReplaceAll(name, "-", "_") }

// variant names the part of the network that has the requirement.
func variant(r network.Requires) string { return cmp.Or(r.When, "it") }

// linuxVersion parses the output of `uname -r`: 6.1.0-18-amd64, 4.18.0-553.el8_10.x86_64,
// 5.10.16.3-microsoft.
func linuxVersion(release string) (values.Version, bool) {
	end := strings.IndexFunc(release, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(release)
	}
	var n [3]int
	parts := strings.Split(strings.TrimRight(release[:end], "."), ".")
	for i, p := range parts[:min(len(parts), len(n))] {
		v, err := strconv.Atoi(p)
		if err != nil {
			return values.Version{}, false
		}
		n[i] = v
	}
	return values.Version{Major: n[0], Minor: n[1], Patch: n[2]}, len(parts) > 1
}
