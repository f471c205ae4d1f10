package model

import (
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/tasks"
)

// Documents name kinds of keys, and package config may not ask package tasks which there are.
func TestDocumentsKnowTheKindsOfTasks(t *testing.T) {
	documents, have := slices.Sorted(slices.Values(config.KeyKinds())), slices.Sorted(slices.Values(tasks.DriftKinds()))
	if !slices.Equal(documents, have) {
		t.Errorf("spec.drift knows %v, tasks have %v", documents, have)
	}
}
