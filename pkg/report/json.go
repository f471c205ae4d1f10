package report

import (
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes a value as JSON. A [Plan] must be finished before; [PlanVersion] names its form.
func JSON(w io.Writer, v any) error { return encode(w, v, "  ") }

// JSONLine writes a value as JSON on one line.
func JSONLine(w io.Writer, v any) error { return encode(w, v, "") }

func encode(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
