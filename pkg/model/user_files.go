package model

import "github.com/netwright/netwright/pkg/tasks"

// userFiles installs the fileAssets of the documents.
func (b *builder) userFiles() error {
	for _, f := range b.in.Node.FileAssets {
		why := "fileAssets"
		if f.Name != "" {
			why += " " + f.Name
		}
		b.add(tasks.File{Meta: tasks.Meta{From: f.Origin.String(), Why: why, Secret: f.Secret},
			Path: f.Path, Content: f.Content, Mode: f.Mode, Owner: f.Owner})
	}
	return nil
}
