package call

// The tools for the resources of MCP servers, which are there while a server has any.
const (
	ListResources = "ListMcpResourcesTool"
	ReadResource  = "ReadMcpResourceTool"
)
