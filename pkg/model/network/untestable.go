package network

// Untestable is where `agent verify --traffic` says that it cannot judge a network: its own parts
// go by what the API has as a Pod, which the pods of a proof are not. What they refuse, or treat
// otherwise, says nothing about the cluster's pods.
type Untestable struct {
	Why     string `json:"why"`
	Instead string `json:"instead"` // what tells
	Case
	Source string `json:"source"`
}

// apiPods is the test of networks that have none of their own: pods that the API knows.
const apiPods = "two pods of the API on this node and one on another, and `kubectl exec` to ask each from the other"
