// Package config turns the documents of a state store into the configuration of one node.
//
// Documents have kOps' shapes: kind Cluster, NodeGroup and Node. They are decoded strictly, merged
// cluster → node group → node (the last one that speaks wins, field by field), filled with defaults
// and validated. Every value remembers the document and line it came from, and every complaint
// shows that line with a caret, what was expected, and the nearest valid name.
//
// The package is pure: it reads no file, looks at no host, and keeps no state. It does not know
// which Kubernetes release lost which kubelet flag, nor what a network needs: that is pkg/model.
//
// Values that may be secret (the content of a file asset, the text of a hook) never appear in a
// diagnostic or in JSON.
package config
