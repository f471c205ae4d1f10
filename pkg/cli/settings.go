package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/netwright/netwright/pkg/host/hostfs/userfile"
	"github.com/netwright/netwright/pkg/statestore/stores"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/https"
	"github.com/netwright/netwright/pkg/statestore/kubernetes"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// Settings are the values of the flags. Read adds values of the agent's own file where no flag sets
// them.
type Settings struct {
	agentfile.AgentFile
	Conf  string         // the path of the agent's own file; "": the default, below the root
	Host  host.Options   // the host that the command works on
	Trust trust.Policy   // how the store's manifest is verified
	Kube  kube.Options   // how to reach the Kubernetes API; its Version is this program's
	flags control.Target // what the flags alone name, once the file is read
	read  bool
	wrong error // of the file, once it is read
}

// Read reads the agent's own file, once, and returns the same error each time. A missing file is an
// error only where --conf names it.
func (s *Settings) Read() error {
	if !s.read {
		s.read, s.flags = true, s.Target()
		s.wrong = readAgentFile(s)
	}
	return s.wrong
}

// readAgentFile adds to the settings what the agent's own file says.
func readAgentFile(s *Settings) error {
	path := cmp.Or(s.Conf, filepath.Join(s.Host.Root, agentfile.Path))
	data, err := ReadFile(path)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && s.Conf == "":
		return nil
	case missing:
		return problem.AgentFile.Errorf("read the agent's file: %w: give --conf its path", err)
	case errors.Is(err, syscall.EISDIR):
		return problem.AgentFile.Errorf("read the agent's file: %w: give --conf the path of a file", err)
	case err != nil:
		return problem.AgentFile.Errorf("read the agent's file: %w", err) // ReadFile's error says what to do
	}
	own, diags := agentfile.Decode(document.Source{Path: path, Data: data})
	if err := diags.Err(); err != nil {
		return err
	}
	s.Trust.Unsigned = s.Trust.Unsigned || own.InsecureUnsigned
	if own.Pin != "" {
		s.Trust.Pin = trust.Pin{Digest: own.Pin, Origin: own.Origin("pin").String()}
	}
	for _, text := range own.TrustedKeys {
		key, err := trust.ParseKey(text, own.Origin("trustedKeys").String())
		if err != nil {
			return err
		}
		s.Trust.Keys = append(s.Trust.Keys, key)
	}
	own.Store, own.Cluster = cmp.Or(s.Store, own.Store), cmp.Or(s.Cluster, own.Cluster)
	own.NodeGroup, own.Node = cmp.Or(s.NodeGroup, own.NodeGroup), cmp.Or(s.Node, own.Node)
	own.Metrics, own.NodeStatus = cmp.Or(s.Metrics, own.Metrics), cmp.Or(s.NodeStatus, own.NodeStatus)
	own.LogFormat, own.Interval = cmp.Or(s.LogFormat, own.LogFormat), cmp.Or(s.Interval, own.Interval)
	s.AgentFile = *own
	return nil
}

// Target returns what flags and file name, without defaults.
func (s *Settings) Target() control.Target {
	return control.Target{Store: s.Store, Cluster: s.Cluster, NodeGroup: s.NodeGroup, Node: s.Node}
}

// StoreOptions returns how to open the store. The caller has called Read.
func (s *Settings) StoreOptions(policy *trust.Policy) stores.Options {
	return stores.Options{Trust: policy, NodeGroup: s.NodeGroup,
		HTTPS:      https.Settings{CA: s.StoreCA, Cert: s.StoreCert, Key: s.StoreKey, TokenFile: s.StoreTokenFile},
		Kubernetes: kubernetes.Options{Kubeconfig: s.Kubeconfig, Options: s.Kube}}
}

// imageNode is the default name of the node in an image: the image is for any node of its group,
// and does not have the name of the machine that builds it.
const imageNode = "image"

// nameNode sets the default name of the node where neither a flag nor the file names it.
func (s *Settings) nameNode() (err error) {
	switch {
	case s.Node != "":
	case s.Host.Root != "" && filepath.Clean(s.Host.Root) != "/":
		s.Node = imageNode
	default:
		s.Node, err = Hostname()
	}
	return err
}

// selected returns the node that flags, file and host name, and what gave its names. The settings
// have the node's name already.
func selected(s *Settings) config.Select {
	from := func(flag, given, field string) string {
		if given != "" {
			return flag
		}
		return s.Origin(field).String()
	}
	return config.Select{Group: s.NodeGroup, Node: s.Node,
		GroupFrom: from("--node-group", s.flags.NodeGroup, "nodeGroup"),
		NodeFrom:  cmp.Or(from("--node", s.flags.Node, "node"), "the host's name")}
}

// Hostname returns the name of this machine, which is the default name of its node.
func Hostname() (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("find the node's name: %w: give it with --node", err)
	}
	return name, nil
}

// onlyCluster takes the store's only cluster where none is named.
func (s *Settings) onlyCluster() error {
	if s.Cluster != "" {
		return nil
	}
	store, clusters, err := stores.Clusters(s.Store)
	if err != nil {
		return err
	}
	if len(clusters) > 1 {
		return fmt.Errorf("%s has several clusters: name one of them with --cluster: %s", s.Store,
			strings.Join(clusters, ", "))
	}
	s.Store, s.Cluster = store, clusters[0]
	return nil
}

// ReadFile reads a small file of this machine. It never waits for the writer of a pipe, and refuses
// what is no regular file of settings.
func ReadFile(path string) ([]byte, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	files, err := host.OpenFiles(host.Options{})
	if err != nil {
		return nil, err
	}
	defer files.Close() // it is only read
	return files.ReadFile(full)
}

// OpenWriter opens the files of this machine for a command that writes at path, and returns the
// absolute path. The caller must close it.
func OpenWriter(path string) (w *userfile.Writer, full string, err error) {
	if full, err = filepath.Abs(path); err != nil {
		return nil, "", fmt.Errorf("find %s: %w", path, err)
	}
	w, err = host.OpenFileWriter(host.Options{AnyLinks: true})
	return w, full, err
}
