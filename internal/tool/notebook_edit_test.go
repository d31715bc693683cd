package tool_test

import (
	"strings"
	"testing"
)

func TestNotebookEditChangesCellsOfANotebookThatWasRead(t *testing.T) {
	b := newBench(t)
	b.put("a.ipynb", notebookWith(
		map[string]any{
			"cell_type": "code", "id": "one", "source": "x = 1",
			"outputs": []any{map[string]any{"output_type": "stream", "text": "old"}},
		},
		map[string]any{"cell_type": "markdown", "id": "two", "source": "words"},
	))
	b.fails("NotebookEdit", in{"notebook_path": "a.ipynb", "cell_id": "one", "new_source": "y"}, "has not been read")
	b.must("Read", in{"file_path": "a.ipynb"})
	if got := b.must("NotebookEdit", in{
		"notebook_path": "a.ipynb", "cell_id": "one",
		"new_source": "x = 2",
	}); got != "Replaced cell 1." {
		t.Error(got)
	}
	if got := b.must("NotebookEdit", in{
		"notebook_path": "a.ipynb", "cell_id": "two", "new_source": "z",
		"edit_mode": "insert",
	}); got != "Inserted as cell 3." {
		t.Error(got)
	}
	if got := b.must("NotebookEdit", in{
		"notebook_path": "a.ipynb", "cell_id": "two",
		"edit_mode": "delete",
	}); got != "Deleted cell 2." {
		t.Error(got)
	}
	got := b.must("Read", in{"file_path": "a.ipynb"})
	if wantIn(t, got, "x = 2", "\nz\n"); strings.Contains(got, "old") || strings.Contains(got, "words") {
		t.Error(got)
	}
	b.fails("NotebookEdit", in{"notebook_path": "a.ipynb", "cell_id": "one"}, "new_source is missing")
	b.fails("NotebookEdit", in{"notebook_path": "a.ipynb", "cell_id": "seven", "new_source": ""}, "the cells are one")
	b.fails("NotebookEdit", in{"notebook_path": "a.txt", "cell_id": "one", "new_source": ""}, "use Edit")
	b.fails("NotebookEdit", in{"notebook_path": "none.ipynb", "cell_id": "one", "new_source": ""}, "does not exist")
	b.put("a.ipynb", notebookWith())
	b.fails("NotebookEdit", in{"notebook_path": "a.ipynb", "new_source": "", "edit_mode": "insert"},
		"modified since it was read")
}
