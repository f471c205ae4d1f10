// Package graph orders pieces of host state by the keys that they own and need, and runs them as a bounded dataflow.
package graph
