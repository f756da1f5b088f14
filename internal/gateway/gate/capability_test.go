package gate

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
)

// modelCall is a call as it stands before the capability gate.
func modelCall(kind, path, body string, header ...string) *Request {
	r := request("POST", "/m"+path, header...)
	r.Upstream = upstream.Upstream{Name: "m", Kind: kind, Base: &url.URL{Scheme: "https", Host: "m.example"}}
	r.Target = &url.URL{Scheme: "https", Host: "m.example", Path: path}
	r.Class, r.Body = r.Upstream.Classify("POST", path), []byte(body)
	return r
}

const (
	messagesPath  = "/v1/messages"
	chatPath      = "/v1/chat/completions"
	responsesPath = "/v1/responses"
	generatePath  = "/v1beta/models/g:generateContent"
)

type capabilityCase struct {
	body string
	want string // "", a grant, or a reason with "!" in front
}

func TestCapabilityAnthropic(t *testing.T) {
	block := func(b string) string {
		return `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[` + b + `]}]}`
	}
	tool := func(b string) string { return `{"model":"m","max_tokens":1,"messages":[],"tools":[` + b + `]}` }
	checkCapability(t, upstream.KindAnthropic, messagesPath, map[string]capabilityCase{
		"a plain call":                             {`{"model":"m","max_tokens":1,"stream":true,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"http://x"}]}`, ""},
		"an image and a document in the body":      {block(`{"type":"image","source":{"type":"base64","data":"AA"}},{"type":"document","source":{"type":"text","data":"x"}}`), ""},
		"a tool of the client":                     {tool(`{"name":"a","input_schema":{"type":"object","properties":{"url":{"type":"string"}}}},{"type":"custom","name":"b"}`), ""},
		"bash, run by the client":                  {tool(`{"type":"bash_20250124","name":"bash"}`), ""},
		"a call and its result":                    {block(`{"type":"tool_use","id":"1","name":"f","input":{"source":{"type":"url","url":"https://x"}}},{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"x"}]}`), ""},
		"web search":                               {tool(`{"type":"web_search_20250305","name":"web_search"}`), session.GrantWebSearch},
		"web fetch":                                {tool(`{"type":"web_fetch_20250910","name":"web_fetch"}`), session.GrantWebFetch},
		"code execution":                           {tool(`{"type":"code_execution_20250825","name":"c"}`), session.GrantCode},
		"the computer tool":                        {tool(`{"type":"computer_20250124","name":"computer"}`), session.GrantComputer},
		"a search over tools":                      {tool(`{"type":"tool_search_tool_regex_20251119","name":"t"}`), session.GrantTools},
		"a toolset of a tool server":               {tool(`{"type":"mcp_toolset","mcp_server_name":"x"}`), session.GrantMCP},
		"a tool of tomorrow":                       {tool(`{"type":"teleport_20300101","name":"t"}`), "!" + ReasonUnknownFeature},
		"a tool type without a date":               {tool(`{"type":"web_search","name":"t"}`), "!" + ReasonUnknownFeature},
		"a tool type in capitals":                  {tool(`{"type":"Web_Search_20250305","name":"t"}`), "!" + ReasonUnknownFeature},
		"a tool type that is a number":             {tool(`{"type":1}`), "!" + ReasonUnknownFeature},
		"a type with an escape":                    {tool(`{"\u0074ype":"web\u005fsearch_20250305"}`), session.GrantWebSearch},
		"a type key in capitals":                   {tool(`{"TYPE":"web_search_20250305"}`), session.GrantWebSearch},
		"tools in another shape":                   {`{"messages":[],"tools":{"type":"web_search_20250305"}}`, "!" + ReasonUnknownFeature},
		"tools twice":                              {`{"messages":[],"tools":[],"tools":[{"type":"web_search_20250305"}]}`, "!" + ReasonAmbiguous},
		"tools in two cases":                       {`{"messages":[],"tools":[],"Tools":[{"type":"web_search_20250305"}]}`, "!" + ReasonAmbiguous},
		"tool servers":                             {`{"messages":[],"mcp_servers":[{"type":"url","url":"https://x"}]}`, session.GrantMCP},
		"no tool servers":                          {`{"messages":[],"mcp_servers":[]}`, ""},
		"a container":                              {`{"messages":[],"container":"c1"}`, session.GrantCode},
		"an image by URL":                          {block(`{"type":"image","source":{"type":"url","url":"https://x/?leak"}}`), session.GrantURL},
		"a document by URL":                        {block(`{"type":"document","source":{"type":"url","url":"https://x"}}`), session.GrantURL},
		"a URL under a harmless type":              {block(`{"type":"text","text":"x","source":{"type":"base64","url":"https://x"}}`), session.GrantURL},
		"a URL in a result of a tool":              {block(`{"type":"tool_result","tool_use_id":"1","content":[{"type":"image","source":{"type":"url","url":"https://x"}}]}`), session.GrantURL},
		"a URL inside a document":                  {block(`{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"https://x"}}]}}`), session.GrantURL},
		"a URL in the system prompt":               {`{"messages":[],"system":[{"type":"image","source":{"type":"url","url":"https://x"}}]}`, session.GrantURL},
		"a kept file":                              {block(`{"type":"document","source":{"type":"file","file_id":"f"}}`), session.GrantFiles},
		"an upload into a container":               {block(`{"type":"container_upload","file_id":"f"}`), session.GrantFiles},
		"a use of a hosted tool":                   {block(`{"type":"server_tool_use","id":"1","name":"web_fetch","input":{"url":"https://x"}}`), "!" + ReasonUnknownFeature + "|" + session.GrantWebFetch},
		"a result of a hosted tool":                {block(`{"type":"web_search_tool_result","tool_use_id":"1","content":[{"type":"web_search_result","url":"https://x"}]}`), session.GrantWebSearch},
		"a block of tomorrow":                      {block(`{"type":"hologram"}`), "!" + ReasonUnknownFeature},
		"a source of tomorrow":                     {block(`{"type":"image","source":{"type":"git","url":"x"}}`), "!" + ReasonUnknownFeature + "|"},
		"a block without a type":                   {block(`{"text":"x"}`), "!" + ReasonUnknownFeature},
		"content that is an object":                {`{"messages":[{"role":"user","content":{"type":"image","source":{"type":"url","url":"https://x"}}}]}`, "!" + ReasonUnknownFeature},
		"messages that are an object":              {`{"messages":{"content":"x"}}`, "!" + ReasonUnknownFeature},
		"a field of tomorrow":                      {`{"messages":[],"hosted_agent":true}`, session.GrantField + "hosted_agent"},
		"a field in capitals":                      {`{"messages":[],"MCP_Servers":[{}]}`, session.GrantField + "MCP_Servers"},
		"no object":                                {`[]`, "!" + ReasonAmbiguous},
		"two values":                               {`{"messages":[]}{}`, "!" + ReasonAmbiguous},
		"a byte order mark":                        {"\xef\xbb\xbf{\"messages\":[]}", "!" + ReasonAmbiguous},
		"a source of a search result is a text":    {block(`{"type":"search_result","source":"https://x","title":"t","content":[{"type":"text","text":"x"}]}`), ""},
		"an earlier thought":                       {block(`{"type":"thinking","thinking":"t","signature":"s"},{"type":"redacted_thinking","data":"d"}`), ""},
		"a URL written as data is content already": {block(`{"type":"image","source":{"type":"base64","url":"data:image/png;base64,AA"}}`), ""},
	})
}

func TestCapabilityOpenAIChat(t *testing.T) {
	part := func(b string) string {
		return `{"model":"m","messages":[{"role":"user","content":[` + b + `]}]}`
	}
	checkCapability(t, upstream.KindOpenAI, chatPath, map[string]capabilityCase{
		"a plain call":            {`{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}`, ""},
		"an answer with calls":    {`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"image_url\":\"https://x\"}"}}]},{"role":"tool","tool_call_id":"1","content":"x"}]}`, ""},
		"an image in the body":    {part(`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}`), ""},
		"a file in the body":      {part(`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AA"}}`), ""},
		"an image by URL":         {part(`{"type":"image_url","image_url":{"url":"https://x"}}`), session.GrantURL},
		"an image by bare URL":    {part(`{"type":"image_url","image_url":"https://x"}`), session.GrantURL},
		"a kept file":             {part(`{"type":"file","file":{"file_id":"f"}}`), session.GrantFiles},
		"sound":                   {part(`{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}}`), session.GrantAudio},
		"sound as the answer":     {`{"messages":[],"modalities":["text","audio"],"audio":{"voice":"x"}}`, session.GrantAudio},
		"web search":              {`{"messages":[],"web_search_options":{"search_context_size":"low"}}`, session.GrantWebSearch},
		"a model that searches":   {`{"messages":[],"model":"gpt-4o-Search-preview"}`, session.GrantWebSearch},
		"a model put online":      {`{"messages":[],"model":"a/b:online"}`, session.GrantWebSearch},
		"keeping the answer":      {`{"messages":[],"store":true}`, session.GrantState},
		"not keeping the answer":  {`{"messages":[],"store":false}`, ""},
		"a hosted tool":           {`{"messages":[],"tools":[{"type":"mcp","server_url":"https://x"}]}`, session.GrantMCP},
		"a tool without a type":   {`{"messages":[],"tools":[{}]}`, "!" + ReasonUnknownFeature},
		"a part of tomorrow":      {part(`{"type":"hologram"}`), "!" + ReasonUnknownFeature},
		"a field of tomorrow":     {`{"messages":[],"agents":[]}`, session.GrantField + "agents"},
		"an unknown modality":     {`{"messages":[],"modalities":["smell"]}`, "!" + ReasonUnknownFeature},
		"a URL in another case":   {part(`{"type":"image_url","Image_URL":{"URL":"https://x"}}`), session.GrantURL},
		"a URL beside its scheme": {part(`{"type":"image_url","image_url":{"url":" https://x"}}`), session.GrantURL},
	})
}

func TestCapabilityOpenAIResponses(t *testing.T) {
	with := func(fields string) string { return `{"model":"m","store":false,"input":"x"` + fields + `}` }
	tool := func(b string) string { return with(`,"tools":[` + b + `]`) }
	item := func(b string) string { return `{"model":"m","store":false,"input":[` + b + `]}` }
	checkCapability(t, upstream.KindOpenAI, responsesPath, map[string]capabilityCase{
		"a plain call":                 {with(""), ""},
		"a turn with calls":            {item(`{"role":"user","content":"x"},{"type":"reasoning","summary":[{"type":"summary_text","text":"t"}],"encrypted_content":"e"},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"https://x"}`), ""},
		"thoughts to be sent again":    {with(`,"include":["reasoning.encrypted_content"]`), ""},
		"a call that is kept":          {`{"input":"x","store":true}`, session.GrantState},
		"saying nothing about it":      {`{"model":"m","input":"x"}`, session.GrantState},
		"store null":                   {`{"model":"m","input":"x","store":null}`, session.GrantState},
		"an earlier answer":            {with(`,"previous_response_id":"r"`), session.GrantState},
		"a conversation":               {with(`,"conversation":"c"`), session.GrantState},
		"a prompt kept there":          {with(`,"prompt":{"id":"p"}`), session.GrantState},
		"an image that fills a prompt": {with(`,"prompt":{"id":"p","variables":{"a":"x","b":{"type":"input_image","image_url":"https://x"}}}`), session.GrantState + "|" + session.GrantURL},
		"in the background":            {with(`,"background":true`), session.GrantState},
		"web search":                   {tool(`{"type":"web_search"}`), session.GrantWebSearch},
		"a model that researches":      {`{"model":"o3-deep-research","store":false,"input":"x"}`, session.GrantWebSearch},
		"web search by its date":       {tool(`{"type":"web_search_preview_2025_03_11"}`), session.GrantWebSearch},
		"file search":                  {tool(`{"type":"file_search","vector_store_ids":["v"]}`), session.GrantFiles},
		"a code interpreter":           {tool(`{"type":"code_interpreter","container":{"type":"auto"}}`), session.GrantCode},
		"a hosted shell":               {tool(`{"type":"shell"}`), session.GrantCode},
		"a computer":                   {tool(`{"type":"computer_use_preview"}`), session.GrantComputer},
		"images":                       {tool(`{"type":"image_generation"}`), session.GrantImages},
		"a tool server":                {tool(`{"type":"mcp","server_url":"https://x"}`), session.GrantMCP},
		"a tool of tomorrow":           {tool(`{"type":"teleport"}`), "!" + ReasonUnknownFeature},
		"sources of a search":          {with(`,"include":["web_search_call.action.sources"]`), session.GrantWebSearch},
		"an inclusion without a list":  {with(`,"include":"web_search_call.action.sources"`), session.GrantWebSearch},
		"no inclusion":                 {with(`,"include":null`), ""},
		"an unknown inclusion":         {with(`,"include":["secrets"]`), "!" + ReasonUnknownFeature},
		"an image by URL":              {item(`{"role":"user","content":[{"type":"input_image","image_url":"https://x"}]}`), session.GrantURL},
		"a file by URL":                {item(`{"role":"user","content":[{"type":"input_file","file_url":"https://x"}]}`), session.GrantURL},
		"a kept file":                  {item(`{"role":"user","content":[{"type":"input_file","file_id":"f"}]}`), session.GrantFiles},
		"a URL in an output":           {item(`{"type":"function_call_output","call_id":"1","output":[{"type":"input_image","image_url":"https://x"}]}`), session.GrantURL},
		"a screenshot by URL":          {item(`{"type":"computer_call_output","output":{"type":"computer_screenshot","image_url":"https://x"}}`), session.GrantComputer + "|" + session.GrantURL},
		"a reference to a kept item":   {item(`{"type":"item_reference","id":"i"}`), session.GrantState},
		"a kept item by its id alone":  {item(`{"id":"msg_1"}`), session.GrantState},
		"and beside a message":         {item(`{"role":"user","content":"x"},{"id":"rs_1"}`), session.GrantState},
		"an approval of a tool call":   {item(`{"type":"mcp_approval_response","approve":true}`), session.GrantMCP},
		"input that is an object":      {`{"store":false,"input":{"type":"input_image","image_url":"https://x"}}`, "!" + ReasonUnknownFeature},
		"an item of tomorrow":          {item(`{"type":"hologram"}`), "!" + ReasonUnknownFeature},
		"an image in the body itself":  {item(`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA"}]}`), ""},
	})
}

func TestCapabilityGemini(t *testing.T) {
	part := func(b string) string { return `{"contents":[{"role":"user","parts":[` + b + `]}]}` }
	tool := func(b string) string { return `{"contents":[],"tools":[` + b + `]}` }
	checkCapability(t, upstream.KindGemini, generatePath, map[string]capabilityCase{
		"a plain call":              {`{"contents":[{"parts":[{"text":"https://x"}]}],"systemInstruction":{"parts":[{"text":"s"}]},"generationConfig":{"maxOutputTokens":5},"tools":[{"functionDeclarations":[{"name":"f"}]}]}`, ""},
		"an image in the body":      {part(`{"inline_data":{"mime_type":"image/png","data":"AA"}}`), ""},
		"a call and its answer":     {part(`{"functionCall":{"name":"f","args":{"fileData":{"fileUri":"x"}}}},{"functionResponse":{"name":"f","response":{"url":"x"}}}`), ""},
		"a file by URL":             {part(`{"fileData":{"fileUri":"https://x"}}`), session.GrantURL},
		"a file in snake case":      {part(`{"file_data":{"file_uri":"gs://b/o"}}`), session.GrantURL},
		"a kept file":               {part(`{"fileData":{"fileUri":"https://generativelanguage.googleapis.com/v1beta/files/f"}}`), session.GrantFiles},
		"a file in an answer":       {part(`{"functionResponse":{"name":"f","response":{},"parts":[{"fileData":{"fileUri":"https://x"}}]}}`), session.GrantURL},
		"a file in the instruction": {`{"contents":[],"system_instruction":{"parts":{"fileData":{"fileUri":"https://x"}}}}`, session.GrantURL},
		"search":                    {tool(`{"googleSearch":{}}`), session.GrantWebSearch},
		"search in snake case":      {tool(`{"google_search":{}}`), session.GrantWebSearch},
		"the old search":            {tool(`{"googleSearchRetrieval":{}}`), session.GrantWebSearch},
		"URLs":                      {tool(`{"functionDeclarations":[]},{"url_context":{}}`), session.GrantWebFetch},
		"code":                      {tool(`{"codeExecution":{}}`), session.GrantCode},
		"a computer":                {tool(`{"computerUse":{}}`), session.GrantComputer},
		"a tool of tomorrow":        {tool(`{"teleport":{}}`), "!" + ReasonUnknownFeature},
		"tools in another shape":    {`{"contents":[],"tools":{"googleSearch":{}}}`, "!" + ReasonUnknownFeature},
		"a cache":                   {`{"contents":[],"cachedContent":"cachedContents/c"}`, session.GrantState},
		"a part of tomorrow":        {part(`{"hologram":{}}`), "!" + ReasonUnknownFeature},
		"a field of tomorrow":       {`{"contents":[],"agents":1}`, session.GrantField + "agents"},
		"sound as the answer":       {`{"contents":[],"generationConfig":{"responseModalities":["AUDIO"]}}`, session.GrantAudio},
		"sound, not in a list":      {`{"contents":[],"generationConfig":{"responseModalities":"AUDIO"}}`, session.GrantAudio},
		"an image, in small":        {`{"contents":[],"generationConfig":{"response_modalities":"image"}}`, session.GrantImages},
		"a modality by its number":  {`{"contents":[],"generationConfig":{"responseModalities":[2]}}`, "!" + ReasonUnknownFeature},
		"modalities as an object":   {`{"contents":[],"generationConfig":{"responseModalities":{"0":"AUDIO"}}}`, "!" + ReasonUnknownFeature},
		"images as the answer":      {`{"contents":[],"generation_config":{"response_modalities":["IMAGE"]}}`, session.GrantImages},
		"a counted request":         {`{"generateContentRequest":{"contents":[],"tools":[{"urlContext":{}}]}}`, session.GrantWebFetch},
		"an embedding":              {`{"content":{"parts":[{"text":"x"}]},"taskType":"RETRIEVAL_QUERY","outputDimensionality":8}`, ""},
		"an embedding of a file":    {`{"content":{"parts":[{"fileData":{"fileUri":"https://x"}}]}}`, session.GrantURL},
	})
}

// checkCapability asserts each case without a grant, and that exactly the grants
// it names open it and mark it as hosted.
func checkCapability(t *testing.T, kind, path string, cases map[string]capabilityCase) {
	t.Helper()
	for name, c := range cases {
		want, more, _ := strings.Cut(c.want, "|")
		d := Capability{}.Decide(t.Context(), modelCall(kind, path, c.body))
		reason, refused := strings.CutPrefix(want, "!")
		switch {
		case refused:
			if d.Reason != reason && (more == "" || !strings.Contains(d.Message, more)) {
				t.Errorf("%s: %+v, want %s", name, d, reason)
			}
			continue
		case want == "":
			expect(t, name, d, "")
			continue
		}
		expect(t, name, d, ReasonCapability)
		if !strings.Contains(d.Message, want) || !strings.Contains(d.Message, more) {
			t.Errorf("%s: %q does not name %s %s", name, d.Message, want, more)
		}
		r := modelCall(kind, path, c.body)
		r.Session.Scope.Grants = []string{want, more}
		if d := (Capability{}).Decide(t.Context(), r); !d.Allowed || !r.Hosted {
			t.Errorf("%s, granted: %+v, hosted %v", name, d, r.Hosted)
		}
		for _, other := range session.Grants() {
			r := modelCall(kind, path, c.body)
			if r.Session.Scope.Grants = []string{other}; other != want && (Capability{}).Decide(t.Context(), r).Allowed {
				t.Errorf("%s: %s opens it", name, other)
			}
		}
	}
}

func TestCapabilityHeadersAndPaths(t *testing.T) {
	plainBody := `{"model":"m","messages":[]}`
	cases := map[string]struct {
		r    *Request
		want string
	}{
		"a beta":                        {modelCall(upstream.KindAnthropic, messagesPath, plainBody, "anthropic-beta", "mcp-client-2025-04-04"), "beta:mcp-client-2025-04-04"},
		"the second of a list":          {modelCall(upstream.KindAnthropic, messagesPath, plainBody, "anthropic-beta", " ,, files-api-2025-04-14 ,x"), "beta:files-api-2025-04-14, beta:x"},
		"a second header":               {modelCall(upstream.KindAnthropic, messagesPath, plainBody, "anthropic-beta", "", "Anthropic-Beta", "y"), "beta:y"},
		"a beta of OpenAI":              {modelCall(upstream.KindOpenAI, chatPath, plainBody, "OpenAI-Beta", "assistants=v2"), "beta:assistants=v2"},
		"an empty beta":                 {modelCall(upstream.KindAnthropic, messagesPath, plainBody, "anthropic-beta", ""), ""},
		"the files endpoint":            {modelCall(upstream.KindAnthropic, "/v1/files", ""), session.GrantFiles},
		"a file's content":              {modelCall(upstream.KindOpenAI, "/v1/files/f/content", ""), session.GrantFiles},
		"uploads of Gemini":             {modelCall(upstream.KindGemini, "/upload/v1beta/files", ""), session.GrantFiles},
		"batches":                       {modelCall(upstream.KindAnthropic, "/v1/messages/batches", ""), session.GrantBatches},
		"batches of OpenAI":             {modelCall(upstream.KindOpenAI, "/v1/batches", ""), session.GrantBatches},
		"assistants":                    {modelCall(upstream.KindOpenAI, "/v1/assistants", ""), session.GrantState},
		"a stored answer":               {modelCall(upstream.KindOpenAI, "/v1/responses/r_1", ""), session.GrantState},
		"caches of Gemini":              {modelCall(upstream.KindGemini, "/v1beta/cachedContents", ""), session.GrantState},
		"vector stores":                 {modelCall(upstream.KindOpenAI, "/v1/vector_stores", ""), session.GrantFiles},
		"realtime":                      {modelCall(upstream.KindOpenAI, "/v1/realtime", ""), ReasonRealtime},
		"realtime sessions":             {modelCall(upstream.KindOpenAI, "/v1/realtime/sessions", ""), ReasonRealtime},
		"live":                          {modelCall(upstream.KindGemini, "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent", ""), ReasonRealtime},
		"a URL for a server of our own": {localCall(`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://169.254.169.254/"}}]}]}`), session.GrantURL},
		"a field of such a server":      {localCall(`{"messages":[],"top_k":5,"keep_alive":1}`), ""},
	}
	for name, c := range cases {
		d := Capability{}.Decide(t.Context(), c.r)
		switch {
		case c.want == "":
			expect(t, name, d, "")
		case d.Allowed || d.Reason != c.want && !strings.Contains(d.Message, c.want):
			t.Errorf("%s: %+v, want %s", name, d, c.want)
		}
	}
}

func localCall(body string) *Request {
	r := modelCall(upstream.KindOpenAI, chatPath, body)
	r.Upstream.Local = true
	return r
}

func TestCapabilityOfTools(t *testing.T) {
	r := request("POST", "/t/x")
	r.Upstream.Kind, r.Class = upstream.KindCustom, upstream.Write
	expect(t, "a tool is another gate's matter", Capability{}.Decide(t.Context(), r), "")
	r.Class = upstream.Unknown
	expect(t, "a path nobody offers", Capability{}.Decide(t.Context(), r), ReasonNotOffered)
}

// FuzzCapability: whatever the spelling, what passes without grants names no
// URL as a source and no hosted tool.
func FuzzCapability(f *testing.F) {
	for _, body := range []string{
		`{"messages":[{"content":[{"type":"image","source":{"type":"url","url":"https://x"}}]}]}`, `{"tools":[{"type":"web_search_20250305"}]}`,
		`{"contents":[{"parts":[{"file_data":{"file_uri":"https://x"}}]}],"tools":[{"url_context":{}}]}`, `{"store":false,"input":[{"type":"input_image","image_url":"https://x"}]}`,
		`{"mcp_servers":[{}],"container":{},"web_search_options":{}}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for kind, path := range map[string]string{upstream.KindAnthropic: messagesPath, upstream.KindGemini: generatePath, upstream.KindOpenAI: responsesPath} {
			r := modelCall(kind, path, body)
			d := Capability{}.Decide(t.Context(), r)
			if d.Allowed && r.Hosted {
				t.Fatalf("%s: hosted without a grant: %q", kind, body)
			}
			if d.Allowed && kind == upstream.KindAnthropic && namesURL(body) {
				t.Fatalf("a URL passed: %q", body)
			}
			if !d.Allowed && (d.Reason == "" || d.Message == "" || d.Status == 0) {
				t.Fatalf("%+v", d)
			}
		}
	})
}

// namesURL reads a body as a lenient reader of the Messages dialect would.
func namesURL(body string) bool {
	var call struct {
		Messages []struct {
			Content json.RawMessage
		}
		Tools []struct{ Type string }
	}
	if json.Unmarshal([]byte(body), &call) != nil {
		return false
	}
	for _, m := range call.Messages {
		var blocks []struct {
			Source struct{ Type, URL string }
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue
		}
		for _, b := range blocks {
			if b.Source.Type == "url" || b.Source.URL != "" && !strings.HasPrefix(b.Source.URL, "data:") {
				return true
			}
		}
	}
	for _, tool := range call.Tools {
		if strings.HasPrefix(tool.Type, "web_") {
			return true
		}
	}
	return false
}
