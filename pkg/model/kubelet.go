package model

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// setting is a kubelet flag with its value and the origin of the value.
type setting struct {
	flag   kubeletFlag
	value  string
	origin string
}

// kubelet sets the kubelet flags that the network needs and this kubelet release knows. It writes
// a file into --config-dir if that file can hold all of them and no later file sets them
// differently. Otherwise it sets a variable that kubelet's command line already expands. Where
// neither is possible, it writes what the file can hold, and a note names the flags that are left.
// In kubelet a flag wins over a file, and the last of several equal flags or fields wins.
func (b *builder) kubelet() error {
	settings, err := b.kubeletSettings()
	if err != nil || len(settings) == 0 {
		return err
	}
	k := b.in.Facts.Kubelet
	var held, rest []setting
	for _, s := range settings {
		if k.ConfigDir != "" && s.flag.Field != "" && s.overruled(k.Flags, "") == "" && s.outdone(k) == "" {
			held = append(held, s)
		} else {
			rest = append(rest, s)
		}
	}
	meta := tasks.Meta{From: settings[0].origin, Why: "kubelet's network flags"}
	if k.Unit != "" {
		meta.Effects = append(meta.Effects, tasks.Restart(k.Unit))
	}
	variable := chosenVariable(k, settings)
	if len(held) > 0 && (len(rest) == 0 || variable == "") {
		b.add(tasks.File{Meta: meta, Path: path.Join(k.ConfigDir, facts.OwnDropIn), Content: configDropIn(held),
			Mode: 0o644})
	}
	switch {
	case len(rest) == 0:
	case k.Unit != "" && variable != "":
		b.add(tasks.DropIn{Meta: meta, Unit: k.Unit, Name: facts.OwnDropIn,
			Content: environmentDropIn(variable, b.setByOthers(variable, settings), settings)})
		if len(k.EnvFiles) > 0 {
			b.note(network.Warning, k.Unit,
				"systemd lets %s win over our %s: do not set %s there, or add `%s` to what it sets",
				strings.Join(k.EnvFiles, ", "), facts.OwnDropIn, variable, flagLine(settings))
		}
	case len(unsaid(rest, k)) > 0:
		rest = unsaid(rest, k)
		b.note(network.Warning, rest[0].origin, "kubelet takes no flags from us because %s: start it with %s",
			whyNot(k, rest), flagLine(rest))
	}
	return nil
}

// setByOthers returns what another file of kubelet's unit assigns to the variable. systemd takes
// the whole variable from the last file, so our file must repeat what earlier files set. A file
// that sorts after ours wins over it.
func (b *builder) setByOthers(variable string, settings []setting) string {
	for _, v := range b.in.Facts.Kubelet.Set {
		switch {
		case v.Name != variable:
		case path.Base(v.File) > facts.OwnDropIn && path.Base(v.File) != b.in.Facts.Kubelet.Unit:
			b.note(network.Warning, v.File, "it sets %s and wins by its name over our %s: add `%s` to what it sets",
				variable, facts.OwnDropIn, flagLine(settings))
		default:
			return v.Value
		}
	}
	return ""
}

// kubeletSettings returns the flags to set, in the order of kubeletFlags. It fails if a document
// asks for a flag that this kubelet release does not have.
func (b *builder) kubeletSettings() ([]setting, error) {
	if err := b.kubeletPlugin(); err != nil {
		return nil, err
	}
	said, err := b.kubeletOfHost()
	if err != nil {
		return nil, err
	}
	v := b.in.Node.KubernetesVersion
	want := kubeletWant{Input: b.view, plugin: b.built.KubeletPlugin, mtu: b.built.KubeletMTU, maxPods: b.built.MaxPods}
	docker := b.view.DockerKubelet()
	var out []setting
	var errs []string
	for _, f := range kubeletFlags() {
		path := "spec.kubelet." + f.Path
		user := f.User(said)
		switch {
		case user != "" && !f.has(v):
			errs = append(errs, fmt.Sprintf("set %s (%s): kubelet %s has no --%s%s: remove it", path,
				b.view.Origin(path), v, f.Name, f.rangeText()))
		case user != "" && f.OfKops && !docker && b.in.Node.OfKops():
		case user != "" && f.Docker && !docker:
			b.note(network.Warning, b.view.Origin(path), "%s does nothing with %s: kubelet calls no plugins itself",
				path, b.in.Node.ContainerRuntime)
		case user != "":
			out = append(out, setting{f, user, b.view.Origin(path)})
		case f.Value != nil && f.has(v) && (docker || !f.Docker):
			if value := f.Value(want); value != "" {
				out = append(out, setting{f, value, b.view.NetworkOrigin()})
			}
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(errs, "\n"))
	}
	return out, nil
}

// kubeletPlugin refuses a spec.kubelet.networkPluginName that does not fit the network. With `cni:
// {}` the network has checked it already. kOps sets this field for every network.
func (b *builder) kubeletPlugin() error {
	const path = "spec.kubelet.networkPluginName"
	name := b.in.Node.Kubelet.NetworkPluginName
	switch {
	case name == "":
	case !b.view.DockerKubelet() && b.in.Node.OfKops():
	case !b.view.DockerKubelet():
		b.note(network.Warning, b.view.Origin(path), "%s does nothing with %s: kubelet calls no plugins itself", path,
			b.in.Node.ContainerRuntime)
	case b.in.Node.Networking.Name() != "cni" && name != b.built.KubeletPlugin:
		return fmt.Errorf("use %s: %s (%s): %s needs %s: remove it", path, name, b.view.Origin(path), b.net.Name,
			b.built.KubeletPlugin)
	}
	return nil
}

// rangeText returns the releases that know the flag, as text.
func (f kubeletFlag) rangeText() string {
	if f.Last == 0 {
		return fmt.Sprintf(" (it came with 1.%d)", f.First)
	}
	return fmt.Sprintf(" (there from 1.%d to 1.%d)", f.First, f.Last)
}

// is reports whether a flag has the wanted value. A path may end with a slash, as in nodeup's
// files.
func (s setting) is(value string) bool {
	return value == s.value || path.IsAbs(s.value) && path.Clean(value) == s.value
}

// overruled returns the flag, with its value, of kubelet's command line that wins over the setting
// when it comes from the given variable, or from a file if variable is "". It returns "" if no
// flag wins.
func (s setting) overruled(flags []facts.FlagFact, variable string) string {
	for _, f := range flags {
		if f.Name == s.flag.Name && !s.is(f.Value) && (variable == "" || slices.Contains(f.Overrides, variable)) {
			return "--" + f.Name + "=" + f.Value
		}
	}
	return ""
}

// outdone returns the file in kubelet's --config-dir that sorts after ours and sets the field to
// another value, with that value. It returns "" if there is none.
func (s setting) outdone(k facts.KubeletFacts) string {
	for _, v := range k.ConfigSet {
		if v.Name == s.flag.Field && v.Value != s.value && v.File != k.ConfigFile &&
			v.File > path.Join(k.ConfigDir, facts.OwnDropIn) {
			return fmt.Sprintf("%s says %s: %s", v.File, v.Name, v.Value)
		}
	}
	return ""
}

// unsaid returns the settings that kubelet does not have yet. The command line decides; if it does
// not have the flag, the configuration files decide.
func unsaid(settings []setting, k facts.KubeletFacts) (out []setting) {
	for _, s := range settings {
		flag := slices.IndexFunc(k.Flags, func(f facts.FlagFact) bool { return f.Name == s.flag.Name })
		said := flag >= 0 && s.is(k.Flags[flag].Value) || flag < 0 && slices.ContainsFunc(k.ConfigSet,
			func(v facts.VariableFact) bool { return v.Name == s.flag.Field && v.Value == s.value })
		if !said {
			out = append(out, s)
		}
	}
	return out
}

// chosenVariable returns the variable for our flags. kubelet's command line must expand it to
// words, and no later flag may overrule ours. It may be the variable made for the agent, kubeadm's
// variable for network flags, or kubeadm's variable for the administrator. All other variables
// have another owner.
func chosenVariable(k facts.KubeletFacts, settings []setting) string {
	for _, name := range []string{"NETWRIGHT_KUBELET_ARGS", "KUBELET_NETWORK_ARGS", "KUBELET_EXTRA_ARGS"} {
		if slices.Contains(k.Variables, name) && !slices.ContainsFunc(settings,
			func(s setting) bool { return s.overruled(k.Flags, name) != "" }) {
			return name
		}
	}
	return ""
}

// whyNot returns why kubelet takes the settings neither from a file nor from a variable.
func whyNot(k facts.KubeletFacts, settings []setting) string {
	const none = "its ExecStart has no word $NETWRIGHT_KUBELET_ARGS, $KUBELET_NETWORK_ARGS or $KUBELET_EXTRA_ARGS"
	if k.Unit == "" {
		return "no kubelet unit is on this node"
	}
	for _, s := range settings {
		if flag := s.overruled(k.Flags, ""); flag != "" {
			return "its command line says " + flag
		}
		if later := s.outdone(k); later != "" {
			return later
		}
	}
	if k.ConfigDir == "" && !slices.ContainsFunc(settings, func(s setting) bool { return s.flag.Field == "" }) {
		return "it has no --config-dir, and " + none
	}
	return none
}

func flagLine(settings []setting) string {
	words := make([]string, len(settings))
	for i, s := range settings {
		words[i] = "--" + s.flag.Name + "=" + s.value
	}
	return strings.Join(words, " ")
}

// environmentDropIn sets a variable to the flags of other files followed by our flags. It escapes
// quotes and, in our flags, systemd's specifiers (systemd.unit(5), systemd.syntax(7)).
func environmentDropIn(variable, others string, settings []setting) []byte {
	value := strings.TrimSpace(others + " " + strings.ReplaceAll(flagLine(settings), "%", "%%"))
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)
	return []byte(header + "[Service]\nEnvironment=\"" + variable + "=" + escaped + "\"\n")
}

// configDropIn returns a partial KubeletConfiguration with the settings.
// https://kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file/#kubelet-conf-d
func configDropIn(settings []setting) []byte {
	var text strings.Builder
	text.WriteString(header + "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
	for _, s := range settings {
		value := strconv.Quote(s.value)
		if s.flag.Number {
			value = s.value
		}
		fmt.Fprintf(&text, "%s: %s\n", s.flag.Field, value)
	}
	return []byte(text.String())
}
