package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// imageNode is the name of a node that an image is made for, where none is said: it is any node of
// its group, and not the machine that makes it.
const imageNode = "image"

// nameNode names the node where neither flags nor file did.
func (f *flags) nameNode() error {
	switch {
	case f.node != "":
	case f.image():
		f.node = imageNode
	default:
		name, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("find the node's name: %w; name it with --node", err)
		}
		f.node = name
	}
	return nil
}

// image says that the root is not this machine's.
func (f *flags) image() bool { return f.root != "" && filepath.Clean(f.root) != "/" }

// ownFile is where the agent's own file is looked for: that of an image is the image's, not this
// machine's.
func (f *flags) ownFile() string { return filepath.Join(f.root, defaultConf) }
