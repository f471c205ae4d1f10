package report

import (
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes a value as JSON. A [Plan] must be finished before; [PlanVersion] names its form.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
