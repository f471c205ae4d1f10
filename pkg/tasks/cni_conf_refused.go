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

// Consumer is the program that reads the confs with its libcni: the runtime, or kubelet.
type Consumer struct {
	Name           string // for messages: "containerd 1.6.20"; "": unknown
	Spec           string // the newest version of the CNI spec that it knows; "": unknown
	LoadsPluginDir bool   // it also loads plugins of a list from a directory (libcni 1.3)
	// Validates says that it skips a conf whose plugins are not installed.
	Validates bool
	Loads     int    // how many files it loads, each as one network; 0: only the first valid one
	Network   string // the name of the only network that it gives pods; "": the first conf's
}

// version returns the CNI spec version of a conf.
// https://github.com/containernetworking/cni/blob/v1.3.0/pkg/version/conf.go
func (c CNIConf) version() string { return cmp.Or(c.Version, "0.1.0") }

// refused returns why a valid conf can add no pod. libcni checks names only when a pod is added,
// and host-local checks its ranges then.
// https://github.com/containernetworking/cni/blob/v1.3.0/libcni/api.go (addNetwork)
func (t WaitConf) refused(c CNIConf) error {
	if len(c.Plugins) == 0 {
		return nil // no conf, or one that another task is about to write
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

// refuses returns why the consumer refuses a conf of this spec version. Where the consumer's
// version is unknown, a version newer than the agent knows is accepted.
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
