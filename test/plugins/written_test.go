package plugins

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// nodeDocument is the document of the node in all clusters here.
const nodeDocument = "apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: node-1}\nspec: {address: 10.0.0.1, podCIDRs: [100.96.1.0/24]}\n"

// written returns the conf that a plan of testdata/<network>.yaml writes, byte for byte.
func written(name string) ([]byte, error) {
	file := filepath.Join("testdata", name+".yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	node, diags := config.Load(tasks.DriftKinds(), []document.Source{{Path: "cluster.yaml", Data: data}, {Path: "nodes/node-1.yaml", Data: []byte(nodeDocument)}}, config.Select{Node: "node-1"})
	if err := diags.Err(); err != nil {
		return nil, err
	}
	row, _ := network.Find(name)
	planned, _, err := model.Build(model.Input{Node: node, Facts: &host.Facts{Arch: "amd64", Uplink: "eth0",
		Runtime: host.RuntimeFacts{Name: "containerd", Version: "1.7.0"}, Kubelet: host.KubeletFacts{Unit: "kubelet.service"}}})
	if err != nil {
		return nil, err
	}
	for _, task := range planned {
		if f, ok := task.(tasks.File); ok && path.Base(f.Path) == row.Conf.File {
			return f.Content, nil
		}
	}
	return nil, fmt.Errorf("the plan of %s writes no %s", file, row.Conf.File)
}
