// Drives a server with an official TypeScript client: steps in, answers out, as JSON.
import { readFileSync } from 'node:fs';

const [line, stepsFile, command, ...args] = process.argv.slice(2);
const old = line === 'sdk';
const { Client } = await import(old ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const { StdioClientTransport } = await import(old ? '@modelcontextprotocol/sdk/client/stdio.js'
	: '@modelcontextprotocol/client/stdio');

const client = new Client({ name: 'test', version: '1' }, { capabilities: {} });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const say = (what) => console.log(JSON.stringify(what));

// Listing first, so that answers are checked against the schemas of the list.
const { tools } = await client.listTools();
say({ version: null, tools: tools.map((tool) => tool.name) });
for (const [tool, words] of JSON.parse(readFileSync(stepsFile, 'utf8'))) {
	const result = await client.callTool({ name: tool, arguments: words });
	say({ tool, error: result.isError === true, data: result.structuredContent ?? null });
}
const { resources } = await client.listResources();
const { prompts } = await client.listPrompts();
const read = await client.readResource({ uri: resources[0].uri });
say({ resources: resources.length, prompts: prompts.length, read: read.contents.length });
await client.close();
