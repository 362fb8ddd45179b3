%% The same workloads on Erlang/OTP: a supervisor and gen_servers, logging off. Prints one line of JSON.
-module(workloads).
-behaviour(gen_server).
-behaviour(supervisor).
-export([main/2, start_link/1, init/1, handle_call/3, handle_cast/2, terminate/2]).

main(Workload, Scale) ->
    logger:set_primary_config(level, none),
    process_flag(trap_exit, true),
    Figures = workload(Workload, Scale),
    Fields = [io_lib:format("\"~s\":~.4f", [Name, Value * 1.0]) || {Name, Value} <- Figures],
    io:format("{~s}~n", [lists:join(",", Fields)]),
    halt(0).

workload("W1", Scale) -> start_stop(at(100000, Scale));
workload("W2", Scale) ->
    [{"tell-plain", tells(at(1000000, Scale), 1)}, {"fan-in-plain", tells(at(1000000, Scale), 100)}];
workload("W3", Scale) ->
    [{"ask", asks(at(50000, Scale), 1)}, {"ask-100", asks(at(100000, Scale), 100)}];
workload("W4", Scale) ->
    [{"restart", restarts(at(5000, Scale), at(20000, Scale), 1)},
     {"all-100", restarts(at(200, Scale), at(1000, Scale), 100)}];
workload("W5", Scale) ->
    [{"dispatch", chain(at(5000, Scale))}, {"fan-out", fan(at(200, Scale, 2), 50, 10)}].

at(Count, Scale) -> at(Count, Scale, 100).
at(Count, Scale, Least) -> max(Least, round(Count * Scale)).

micros() -> erlang:monotonic_time(nanosecond) / 1000.

%% ------------------------------------------------------------------ the tree
start_link(Arg) -> gen_server:start_link(?MODULE, Arg, []).

init({supervisor, Strategy, Children}) ->
    {ok, {#{strategy => Strategy, intensity => 1000000000, period => 3600}, Children}};
init({coordinator, Workers}) -> {ok, Workers};
init({worker, undefined}) -> {ok, 0};
init({worker, Owner}) ->
    Owner ! {ready, self()},
    {ok, 0}.

handle_call(ask, _From, State) -> {reply, State, State + 1};
handle_call({step, Text}, _From, State) -> {reply, <<Text/binary, " done">>, State + 1};
handle_call({chain, Text}, _From, Workers) ->
    {reply, lists:foldl(fun(Worker, Done) -> gen_server:call(Worker, {step, Done}) end, Text, Workers), Workers};
handle_call({fan, Tasks}, _From, Workers) ->
    Free = queue:from_list(Workers),
    {reply, fan(Tasks, Free, gen_server:reqids_new(), 0), Workers};
handle_call(count, _From, State) -> {reply, State, State}.

%% Tasks go to the next free worker; a worker is free again once it has answered.
fan(Left, Free, Requests, Done) ->
    case Left > 0 andalso queue:out(Free) of
        {{value, Worker}, Rest} ->
            More = gen_server:send_request(Worker, {step, <<"task">>}, Worker, Requests),
            fan(Left - 1, Rest, More, Done);
        _ ->
            case gen_server:receive_response(Requests, infinity, true) of
                no_request -> Done;
                {{reply, _}, Worker, Others} -> fan(Left, queue:in(Worker, Free), Others, Done + 1)
            end
    end.

handle_cast(add, State) -> {noreply, State + 1};
handle_cast({add_until, N, Owner}, State) ->
    case State + 1 of N -> Owner ! drained; _ -> ok end,
    {noreply, State + 1};
handle_cast(crash, State) -> {stop, boom, State}.

terminate(_Reason, _State) -> ok.

worker(Id, Owner) -> #{id => Id, start => {?MODULE, start_link, [{worker, Owner}]}}.

supervisor(Strategy, Children) ->
    {ok, Pid} = supervisor:start_link(?MODULE, {supervisor, Strategy, Children}),
    Pid.

stop(Pid) ->
    Ref = erlang:monitor(process, Pid),
    exit(Pid, shutdown),
    receive {'DOWN', Ref, process, Pid, _} -> ok end,
    receive {'EXIT', Pid, _} -> ok after 0 -> ok end.

%% ------------------------------------------------------------------ workloads
start_stop(N) ->
    erlang:garbage_collect(),
    Base = erlang:memory(processes),
    T0 = micros(),
    Pid = supervisor(one_for_one, []),
    [{ok, _} = supervisor:start_child(Pid, worker(I, undefined)) || I <- lists:seq(1, N)],
    T1 = micros(),
    erlang:garbage_collect(Pid),
    erlang:garbage_collect(),
    Loaded = erlang:memory(processes),
    T2 = micros(),
    stop(Pid),
    T3 = micros(),
    [{"start", (T1 - T0) / N}, {"stop", (T3 - T2) / N}, {"heap", (Loaded - Base) / N}].

tells(N, Senders) ->
    Pid = supervisor(one_for_one, [worker(counter, undefined)]),
    [{counter, Counter, _, _}] = supervisor:which_children(Pid),
    Owner = self(),
    Per = N div Senders,
    T0 = micros(),
    [spawn(fun() -> cast(Per, Counter, {add_until, Per * Senders, Owner}) end) || _ <- lists:seq(1, Senders)],
    receive drained -> ok end,
    Nanos = (micros() - T0) * 1000 / N,
    stop(Pid),
    Nanos.

cast(0, _, _) -> ok;
cast(N, To, Message) -> gen_server:cast(To, Message), cast(N - 1, To, Message).

asks(N, Askers) ->
    Pid = supervisor(one_for_one, [worker(server, undefined)]),
    [{server, Server, _, _}] = supervisor:which_children(Pid),
    Owner = self(),
    Per = N div Askers,
    T0 = micros(),
    [spawn(fun() -> ask(Per, Server), Owner ! finished end) || _ <- lists:seq(1, Askers)],
    [receive finished -> ok end || _ <- lists:seq(1, Askers)],
    Micros = (micros() - T0) / N,
    stop(Pid),
    Micros.

ask(0, _) -> ok;
ask(N, To) -> gen_server:call(To, ask), ask(N - 1, To).

chain(N) ->
    {Pid, Coordinator} = desk(3),
    T0 = micros(),
    Last = repeat(N, fun() -> gen_server:call(Coordinator, {chain, <<"task">>}) end),
    Micros = (micros() - T0) / (N * 3),
    <<"task done done done">> = Last,
    gen_server:stop(Coordinator),
    stop(Pid),
    Micros.

fan(N, Tasks, InFlight) ->
    {Pid, Coordinator} = desk(InFlight),
    T0 = micros(),
    Tasks = repeat(N, fun() -> gen_server:call(Coordinator, {fan, Tasks}) end),
    Micros = (micros() - T0) / (N * Tasks),
    gen_server:stop(Coordinator),
    stop(Pid),
    Micros.

%% Workers under a supervisor, and a coordinator that knows them.
desk(Size) ->
    Pid = supervisor(one_for_one, [worker(I, undefined) || I <- lists:seq(1, Size)]),
    Workers = [Worker || {_, Worker, _, _} <- supervisor:which_children(Pid)],
    {ok, Coordinator} = start_link({coordinator, Workers}),
    {Pid, Coordinator}.

repeat(1, Fun) -> Fun();
repeat(N, Fun) -> Fun(), repeat(N - 1, Fun).

restarts(N, WarmUp, Size) ->
    Pid = supervisor(one_for_all, [worker(I, self()) || I <- lists:seq(1, Size)]),
    Children = ready(Size, []),
    Warm = cycles(WarmUp, Size, Children),
    T0 = micros(),
    cycles(N, Size, Warm),
    Micros = (micros() - T0) / N,
    stop(Pid),
    Micros.

cycles(0, _, Children) -> Children;
cycles(N, Size, Children) ->
    gen_server:cast(hd(Children), crash),
    cycles(N - 1, Size, ready(Size, [])).

ready(0, Children) -> Children;
ready(N, Children) -> receive {ready, Child} -> ready(N - 1, [Child | Children]) end.
