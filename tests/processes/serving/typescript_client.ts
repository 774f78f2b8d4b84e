// Launches a run, and reads it, by the types that openapi-typescript makes of the OpenAPI document.
import type { components, operations } from './schema';

type Body<Name extends keyof operations> = operations[Name] extends {
  requestBody?: { content: { 'application/json': infer Sent } };
}
  ? Sent
  : never;
type Answer<Name extends keyof operations, Status extends number> = operations[Name] extends {
  responses: { [status in Status]: { content: { 'application/json': infer Got } } };
}
  ? Got
  : never;

const address = process.argv[2];

async function call<Name extends keyof operations, Status extends number>(
  name: Name,
  status: Status,
  method: string,
  path: string,
  body?: Body<Name>,
): Promise<Answer<Name, Status>> {
  const sent = { method, headers: { 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) };
  const answer = await fetch(address + path, sent);
  if (answer.status !== status) throw new Error(`${name}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Answer<Name, Status>;
}

async function main(): Promise<void> {
  const launch: Body<'start'> = {
    pattern: 'pipeline',
    parameters: { task: 'Compare tea and coffee' },
    tags: ['drinks'],
  };
  const run: components['schemas']['RunInfo'] = await call('start', 201, 'POST', '/runs', launch);
  const outcome = await call('get_result', 200, 'GET', `/runs/${run.id}/result?wait=30`);
  const steps = await call('list_steps', 200, 'GET', `/runs/${run.id}/steps`);
  const moments: Date[] = steps.items.map((step) => new Date(step.time));
  const agents: string[] = (await call('get_transcript', 200, 'GET', `/runs/${run.id}/transcript`)).map(
    (spoken) => spoken.agent,
  );
  const saved = await call('save_test', 200, 'GET', `/runs/${run.id}/test`);
  const checked = await call('check', 200, 'POST', '/checks', saved);
  const starred = await call('annotate', 200, 'PATCH', `/runs/${run.id}`, { starred: true });
  const spec: components['schemas']['ScheduleSpecInput'] = { cron: ['0 9 * * *'] };
  const daily: Body<'add_schedule'> = { name: 'Daily', action: { pattern: 'lone' }, spec };
  const schedule = await call('add_schedule', 201, 'POST', '/schedules', daily);
  const start: string | null = schedule.spec.start;
  const problem: components['schemas']['Problem'] = await (await fetch(`${address}/runs/nothing`)).json();
  console.log(
    JSON.stringify({
      status: outcome.status,
      moments: moments.every((moment) => moment.getTime() > 0),
      agents: agents.length > 0,
      misses: checked.misses.length,
      tags: starred.tags,
      start,
      problem: problem.type,
    }),
  );
}

void main();
