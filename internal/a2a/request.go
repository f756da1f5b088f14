package a2a

// other is an exchange that is no model call, whose outcome is not known yet.
type other struct {
	task *task
	msg  *message
}

// request adds the message of a request to something else than a model.
func (t *task) request(x *Exchange) finisher {
	var m *message
	if x.refused() {
		m = t.refusal(x, nil)
	} else {
		m = t.message(x, nil, "request")
		m.Role, m.info().Kind = RoleAgent, KindRequest
		m.begin(x)
		t.open++
	}
	if len(x.Request) > 0 {
		m.Parts = []Part{bodyPart(PartRequest, x.Request, x.RequestCut)}
	}
	m.info().Erased, m.info().Partial = x.RequestErased, x.RequestCut
	if x.refused() {
		return nil
	}
	return &other{t, m}
}

func (o *other) finish(x *Exchange) {
	o.task.open--
	var answer said
	if len(x.Response) > 0 {
		answer.parts = []Part{bodyPart(PartResponse, x.Response, x.ResponseCut)}
	}
	answer.whole = !x.ResponseCut
	o.msg.attempts[0].end(x, &answer)
	o.task.until(x.End)
}

// bodyPart shows a body as JSON, as text, or as bytes.
func bodyPart(kind PartKind, body []byte, cut bool) Part {
	p := rawPart(string(body))
	if data := compact(string(body)); data != nil && !cut {
		p = Part{Data: data, MediaType: "application/json"}
	}
	p.Metadata.Info = PartInfo{Kind: kind, Partial: cut}
	return p
}
