// Drives a server with an official TypeScript client: steps in, answers out, as JSON. The first line of clients shakes hands,
// the second finds out by itself what the server speaks. Their user says yes to whatever is asked. A word "$NAME" of a step is
// what an earlier answer had under that name.
import { readFileSync } from 'node:fs';

const [line, stepsFile, command, ...args] = process.argv.slice(2);
const old = line === 'sdk';
const { Client } = await import(old ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const { StdioClientTransport } = await import(old ? '@modelcontextprotocol/sdk/client/stdio.js'
	: '@modelcontextprotocol/client/stdio');

const say = (what) => console.log(JSON.stringify(what));
let asked = 0;
const agree = async () => {
	asked++;
	return { action: 'accept', content: { approve: true } };
};
const client = new Client({ name: 'test', version: '1' },
	{ capabilities: { elicitation: {} }, ...(old ? {} : { versionNegotiation: { mode: 'auto' } }) });
if (old) {
	const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
	client.setRequestHandler(ElicitRequestSchema, agree);
} else {
	client.setRequestHandler('elicitation/create', agree);
}
const transport = new StdioClientTransport({ command, args, env: process.env });
await client.connect(transport);

// Listing first, so that answers are checked against the schemas of the list.
const { tools } = await client.listTools();
say({ version: client.getNegotiatedProtocolVersion?.() ?? null, tools: tools.map((tool) => tool.name) });
const seen = {};
for (const [tool, words] of JSON.parse(readFileSync(stepsFile, 'utf8'))) {
	const filled = Object.fromEntries(Object.entries(words).map(([key, word]) =>
		[key, typeof word === 'string' && word.startsWith('$') ? seen[word.slice(1)] : word]));
	const result = await client.callTool({ name: tool, arguments: filled });
	for (const [key, word] of Object.entries(result.structuredContent ?? {}))
		if (typeof word === 'string')
			seen[key] = word;
	say({ tool, error: result.isError === true, data: result.structuredContent ?? null });
}
const { resources } = await client.listResources();
const { prompts } = await client.listPrompts();
const read = await client.readResource({ uri: resources[0].uri });
say({ resources: resources.length, prompts: prompts.length, read: read.contents.length, asked });
await client.close();
