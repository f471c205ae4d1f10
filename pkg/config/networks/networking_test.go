package networks

import "testing"

// Each task asks which network the node has, so the answer must allocate nothing.
func TestNameAllocatesNothing(t *testing.T) {
	for _, n := range []*Networking{{}, {CNI: &CNI{}}, {Bridge: &Bridge{}}, {OVNKubernetes: &OVNKubernetes{}}} {
		if each := testing.AllocsPerRun(10, func() { n.Name() }); each > 0 {
			t.Errorf("the name %q takes %v allocations", n.Name(), each)
		}
	}
}
