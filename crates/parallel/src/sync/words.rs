//! A way in PyTorch's words: what to register, and what to leave as it is.

use super::Way;
use crate::compress::wire::Form;

const HOOKS: &str = "torch.distributed.algorithms.ddp_comm_hooks";

/// Lines for a training script that wraps its module as `ddp`.
pub fn torch(way: Way) -> String {
    match way {
        Way::Every(Form::Dense) => {
            "# Leave DistributedDataParallel as it is: gradients are averaged in every round.\n".into()
        }
        Way::Every(Form::Fp16) => cast("fp16_compress_hook"),
        Way::Every(Form::Bf16) => cast("bf16_compress_hook"),
        Way::Every(Form::LowRank(rank)) => low_rank(rank),
        Way::Every(_) => {
            "# DistributedDataParallel has no hook for this form: register one of your own that gathers\n\
                          # indices and values, and keeps what it did not send for the next round.\n"
                .into()
        }
        Way::Servers(_) => "# DistributedDataParallel knows no parameter servers: put the parameters into\n\
                            # torch.distributed.rpc remote references, one part for each server.\n"
            .into(),
        Way::Backup(late) => format!(
            "# DistributedDataParallel waits for all. Leave the last {late} out with a fault-tolerant process group\n\
             # whose quorum is the number of workers less {late}, and scale by the number that arrived.\n"
        ),
        Way::Stale(ahead) => format!(
            "# DistributedDataParallel keeps all workers in one round. Keep parameters on servers, and let a worker\n\
             # wait only while it is more than {ahead} rounds ahead of the slowest.\n"
        ),
        Way::Local(rounds) => local(rounds),
        Way::Diloco(rounds) => outer(rounds),
    }
}

fn cast(hook: &str) -> String {
    format!("from {HOOKS} import default_hooks\nddp.register_comm_hook(None, default_hooks.{hook})\n")
}

fn low_rank(rank: u32) -> String {
    format!(
        "from {HOOKS} import powerSGD_hook\n\
         # Dense at first: give about a tenth of all rounds. Directions are found sooner on gradients that have settled.\n\
         state = powerSGD_hook.PowerSGDState(\n    process_group=None,\n    matrix_approximation_rank={rank},\n    \
         start_powerSGD_iter=1000,\n    min_compression_rate=2,\n    use_error_feedback=True,\n    warm_start=True,\n)\n\
         ddp.register_comm_hook(state, powerSGD_hook.powerSGD_hook)\n\
         # Save `state` with the parameters: without it a restart forgets what was not sent.\n"
    )
}

fn local(rounds: u64) -> String {
    format!(
        "from torch.distributed.algorithms.model_averaging import averagers\n\
         from torch.distributed.optim import PostLocalSGDOptimizer\n\
         from {HOOKS} import post_localSGD_hook as local\n\
         # Dense for the first rounds, then averaged every {rounds}.\n\
         state = local.PostLocalSGDState(process_group=None, subgroup=None, start_localSGD_iter=1000)\n\
         ddp.register_comm_hook(state, local.post_localSGD_hook)\n\
         optimizer = PostLocalSGDOptimizer(\n    optim=optimizer,\n    \
         averager=averagers.PeriodicModelAverager(period={rounds}, warmup_steps=1000),\n)\n"
    )
}

fn outer(rounds: u64) -> String {
    format!(
        "# Inner rounds inside `with ddp.no_sync():`; after every {rounds} of them, an outer update:\n\
         outer = torch.optim.SGD(shared.parameters(), lr=0.7, momentum=0.9, nesterov=True)\n\
         for kept, mine in zip(shared.parameters(), ddp.module.parameters()):\n    \
         kept.grad = kept.data - mine.data\n    torch.distributed.all_reduce(kept.grad)\n    \
         kept.grad /= torch.distributed.get_world_size()\n\
         outer.step()\n\
         for kept, mine in zip(shared.parameters(), ddp.module.parameters()):\n    mine.data.copy_(kept.data)\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_has_words() {
        assert!(torch(Way::Every(Form::LowRank(4))).contains("matrix_approximation_rank=4"));
        assert!(torch(Way::Every(Form::Fp16)).contains("fp16_compress_hook"));
        assert!(torch(Way::Local(8)).contains("period=8"));
        assert!(torch(Way::Diloco(50)).contains("no_sync") && torch(Way::Diloco(50)).contains("lr=0.7"));
        for way in [Way::Servers(2), Way::Backup(1), Way::Stale(2), Way::Every(Form::Largest(0.1))] {
            assert!(torch(way).lines().all(|line| line.starts_with('#')));
        }
    }
}
