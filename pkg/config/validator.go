package config

// validator checks what no single value shows: the merged node as a whole.
type validator struct {
	*report
	node *Node
}
