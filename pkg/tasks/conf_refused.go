package tasks

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/utils"
	"github.com/containernetworking/cni/pkg/version"
)

// Consumer is the libcni of who reads the confs: the runtime, or kubelet.
type Consumer struct {
	Name           string // for messages: "containerd 1.6.20"; "" is not known
	Spec           string // the newest version of the spec that it knows; "" is not known
	LoadsPluginDir bool   // it reads plugins of a list in a directory beside it (libcni 1.3)
	// Validates says that it passes over a conf whose plugins are not there.
	Validates bool
	Loads     int    // how many files it loads, each as a network; 0: the first that it takes
	Network   string // the only one that it gives pods, by the name in its conf; "": the first conf's
}

// version is the spec's version of a conf.
// https://github.com/containernetworking/cni/blob/v1.3.0/pkg/version/conf.go
func (c CNIConf) version() string { return cmp.Or(c.Version, "0.1.0") }

// refused says why no pod is added by a conf that could be loaded. libcni looks at names when a pod
// comes, and host-local at its ranges.
// https://github.com/containernetworking/cni/blob/v1.3.0/libcni/api.go (addNetwork)
func (t WaitConf) refused(c CNIConf) error {
	if len(c.Plugins) == 0 {
		return nil // no conf, or one that is about to be written
	}
	if c.Name == "" {
		return errors.New("it has no `name`, and libcni refuses that: give it one")
	}
	if utils.ValidateNetworkName(c.Name) != nil {
		return fmt.Errorf("libcni refuses its `name` %q: expected a letter or a digit, then letters, digits, '.', '_' "+
			"and '-'", c.Name)
	}
	if err := t.Consumer.refuses(c.version()); err != nil {
		return err
	}
	for _, p := range c.programs() {
		if strings.ContainsRune(p.Name, '/') {
			return fmt.Errorf("libcni refuses the plugin `type` %q: expected the name of a program without a path",
				p.Name)
		}
	}
	for _, p := range c.Plugins {
		if err := p.noAddress(); err != nil {
			return fmt.Errorf("host-local refuses the `ipam` of its plugin %s: %w", p.Type, err)
		}
	}
	return nil
}

// refuses says why a conf of this version of the spec adds no pod. What is newer than we know may
// be right where nobody says what the consumer knows.
func (c Consumer) refuses(asked string) error {
	known := version.All.SupportedVersions()
	at, newest := slices.Index(known, asked), slices.Index(known, c.Spec)
	if at >= 0 && (newest < 0 || at <= newest) {
		return nil
	}
	if major, minor, _, err := version.ParseVersion(asked); at < 0 && newest < 0 && err == nil && major == 1 &&
		minor > 1 {
		return nil
	}
	if newest >= 0 {
		known = known[:newest+1]
	}
	return fmt.Errorf("its `cniVersion` %q is none that %s knows: expected one of %s", asked, cmp.Or(c.Name, "libcni"),
		strings.Join(known, ", "))
}
