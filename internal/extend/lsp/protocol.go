package lsp

import "encoding/json"

// The types are those of the Language Server Protocol 3.17, with the fields that are used here.
// https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/

type capabilities struct {
	PositionEncoding Encoding        `json:"positionEncoding"`
	Sync             json.RawMessage `json:"textDocumentSync"` // a number or an object
	Diagnostic       *struct {
		InterFile  bool   `json:"interFileDependencies"`
		Workspace  bool   `json:"workspaceDiagnostics"`
		Identifier string `json:"identifier,omitempty"`
	} `json:"diagnosticProvider"`
	Definition      feature `json:"definitionProvider"`
	TypeDefinition  feature `json:"typeDefinitionProvider"`
	Implementation  feature `json:"implementationProvider"`
	References      feature `json:"referencesProvider"`
	Hover           feature `json:"hoverProvider"`
	DocumentSymbol  feature `json:"documentSymbolProvider"`
	WorkspaceSymbol feature `json:"workspaceSymbolProvider"`
	CallHierarchy   feature `json:"callHierarchyProvider"`
	TypeHierarchy   feature `json:"typeHierarchyProvider"`
	CodeAction      feature `json:"codeActionProvider"`
	Rename          feature `json:"renameProvider"`
}

// feature is a boolean or an object of options.
type feature bool

// UnmarshalJSON accepts a boolean or an object.
func (f *feature) UnmarshalJSON(data []byte) error {
	*f = string(data) != "false" && string(data) != "null"
	return nil
}

// syncOptions are how a server wants to hear of changes.
type syncOptions struct {
	OpenClose bool            `json:"openClose"`
	Change    int             `json:"change"` // 0: not, 1: whole texts, 2: parts
	Save      json.RawMessage `json:"save"`
}

func (c *capabilities) sync() syncOptions {
	var n int
	if json.Unmarshal(c.Sync, &n) == nil && len(c.Sync) > 0 {
		return syncOptions{OpenClose: n > 0, Change: n}
	}
	var o syncOptions
	_ = json.Unmarshal(c.Sync, &o)
	return o
}

// saves reports whether the server wants didSave, and with the text.
func (o syncOptions) saves() (save, text bool) {
	switch string(o.Save) {
	case "", "null", "false":
		return false, false
	}
	var s struct {
		Text bool `json:"includeText"`
	}
	_ = json.Unmarshal(o.Save, &s)
	return true, s.Text
}

// Severity of a diagnostic.
type Severity int

// The severities; 0 counts as an error.
const (
	Error Severity = iota + 1
	Warning
	Information
	Hint
)

func (s Severity) String() string {
	switch s {
	case Warning:
		return "warning"
	case Information:
		return "info"
	case Hint:
		return "hint"
	}
	return "error"
}

type wireDiagnostic struct {
	Range    Range           `json:"range"`
	Severity Severity        `json:"severity,omitempty"`
	Code     json.RawMessage `json:"code,omitempty"` // a number or a text
	Source   string          `json:"source,omitempty"`
	Message  string          `json:"message"`
	Data     json.RawMessage `json:"data,omitempty"`
}

type location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
	// Of a LocationLink.
	TargetURI   string `json:"targetUri"`
	TargetRange *Range `json:"targetSelectionRange"`
}

type textEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

type workspaceEdit struct {
	Changes         map[string][]textEdit `json:"changes"`
	DocumentChanges []documentChange      `json:"documentChanges"`
}

type documentChange struct {
	Kind     string `json:"kind"` // create, rename or delete; empty: edits
	Document struct {
		URI     string `json:"uri"`
		Version *int   `json:"version"`
	} `json:"textDocument"`
	Edits  []textEdit `json:"edits"`
	URI    string     `json:"uri"`
	OldURI string     `json:"oldUri"`
	NewURI string     `json:"newUri"`
}

type object = map[string]any

// clientCapabilities are what this client can do, as initialize sends it.
func clientCapabilities() object {
	link := object{"linkSupport": true}
	return object{
		"general": object{"positionEncodings": []Encoding{UTF8, UTF16, UTF32}, "staleRequestSupport": object{
			"cancel":                 true,
			"retryOnContentModified": []string{},
		}},
		"window": object{"workDoneProgress": true, "showMessage": object{}},
		"workspace": object{
			"configuration": true, "workspaceFolders": true, "applyEdit": false,
			"workspaceEdit": object{"documentChanges": true, "resourceOperations": []string{
				"create", "rename",
				"delete",
			}, "failureHandling": "transactional"},
			"didChangeWatchedFiles":  object{"dynamicRegistration": true, "relativePatternSupport": true},
			"didChangeConfiguration": object{"dynamicRegistration": true},
			"symbol":                 object{"resolveSupport": object{"properties": []string{"location.range"}}},
			"diagnostics":            object{"refreshSupport": true},
		},
		"textDocument": object{
			"synchronization":    object{"didSave": true},
			"publishDiagnostics": object{"versionSupport": true, "relatedInformation": false, "dataSupport": true},
			"diagnostic":         object{"dynamicRegistration": true, "relatedDocumentSupport": true},
			"definition":         link, "typeDefinition": link, "implementation": link, "references": object{},
			"hover":          object{"contentFormat": []string{"plaintext", "markdown"}},
			"documentSymbol": object{"hierarchicalDocumentSymbolSupport": true},
			"callHierarchy":  object{}, "typeHierarchy": object{},
			"rename": object{"prepareSupport": false},
			"codeAction": object{
				"codeActionLiteralSupport": object{"codeActionKind": object{"valueSet": []string{
					"", "quickfix", "refactor",
					"refactor.extract", "refactor.inline", "refactor.rewrite", "source", "source.organizeImports", "source.fixAll",
				}}},
				"isPreferredSupport": true, "disabledSupport": true, "dataSupport": true,
				"resolveSupport": object{"properties": []string{"edit"}},
			},
		},
	}
}
